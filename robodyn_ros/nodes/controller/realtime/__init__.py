# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop in a thread of its own, from joint states to commands without Python."""
