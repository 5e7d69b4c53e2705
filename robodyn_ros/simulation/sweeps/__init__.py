# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: many trials of an arm under control, over parameters that vary, and their results."""
