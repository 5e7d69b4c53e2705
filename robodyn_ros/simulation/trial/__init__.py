"""A trial: the hardware under a control loop, without ROS and faster than real time."""
