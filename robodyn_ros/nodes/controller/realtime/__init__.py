# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What runs the control loop, from joint states to commands: C code, in a thread of its own or called by Python."""
