# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions: trajectories, and their planning within the limits of the arm."""
