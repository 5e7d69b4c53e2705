"""The controller node: joint states in, efforts out."""
