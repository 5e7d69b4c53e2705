# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commissioning: the first start of an arm, joint by joint with low efforts, then with gravity compensation."""

from robodyn_ros.control.commissioning.findings import (
    CommissioningOutcome,
    CommissioningSettings,
    GravityStep,
    JointFindings,
)
from robodyn_ros.control.commissioning.procedure import Commissioning

__all__ = ["Commissioning", "CommissioningOutcome", "CommissioningSettings", "GravityStep", "JointFindings"]
