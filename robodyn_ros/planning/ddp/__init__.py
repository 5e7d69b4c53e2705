# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Differential dynamic programming: iLQR with effort limits."""
