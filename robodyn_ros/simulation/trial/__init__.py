"""A trial: the hardware under a control loop, without ROS and without waiting."""
