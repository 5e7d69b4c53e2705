"""The control loop outside Python: a package for ros2_control."""
