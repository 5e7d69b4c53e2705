# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contacts of the arm: observed through the momentum of the joints, and detected by thresholds."""
