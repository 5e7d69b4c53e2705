# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The only room with ROS: nodes that convert messages, call the library and publish its results."""
