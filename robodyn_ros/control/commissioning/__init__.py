# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commissioning: an arm is switched on for the first time, joint by joint with little effort, then with gravity."""

from robodyn_ros.control.commissioning.findings import (
    CommissioningOutcome,
    CommissioningSettings,
    GravityStep,
    JointFindings,
)
from robodyn_ros.control.commissioning.procedure import Commissioning

__all__ = ["Commissioning", "CommissioningOutcome", "CommissioningSettings", "GravityStep", "JointFindings"]
