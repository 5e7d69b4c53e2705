# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commissioning: the first start of an arm, joint by joint with low efforts, then with gravity compensation."""
