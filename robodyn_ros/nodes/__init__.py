"""The only room with ROS: nodes that convert messages, call the library and publish what it answers."""
