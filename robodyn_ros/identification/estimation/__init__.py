# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Estimation of the arm's parameters from samples of motion."""
