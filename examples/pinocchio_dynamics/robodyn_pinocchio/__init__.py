# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio as a dynamics plugin of robodyn_ros."""
