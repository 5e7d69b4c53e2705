# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control laws: the plugins of the group ``robodyn_ros.controllers``."""
