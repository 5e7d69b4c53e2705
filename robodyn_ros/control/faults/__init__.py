# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults: which states are usable, what counts as wrong, and what is sent while something is."""
