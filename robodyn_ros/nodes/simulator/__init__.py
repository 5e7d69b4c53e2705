"""The simulator node: efforts in, joint states out."""
