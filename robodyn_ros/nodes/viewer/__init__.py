"""The viewer node: the arm in a browser."""
