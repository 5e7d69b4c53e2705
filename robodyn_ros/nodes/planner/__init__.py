# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The planner node: the best motion from the present position of the arm to a target."""
