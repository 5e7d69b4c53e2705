# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plant: the arm with its friction, stops and limits; the plugins of the group ``robodyn_ros.plants``."""
