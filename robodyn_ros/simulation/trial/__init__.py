# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial: the hardware under a control loop, without ROS and faster than real time."""
