"""What more than one node uses."""
