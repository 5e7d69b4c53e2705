# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Export of the control loop as a package for ros2_control, which runs without Python."""
