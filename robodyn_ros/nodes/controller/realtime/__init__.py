"""The control loop in a thread of its own, from joint states to commands without Python."""
