# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The planner node: the best motion from where the arm is to where it is asked to be."""
