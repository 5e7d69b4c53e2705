# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tool: where it is to be, where it is, and what touches it."""
