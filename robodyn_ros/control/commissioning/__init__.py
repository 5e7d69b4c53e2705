"""Switching an arm on for the first time: one joint at a time, with little effort, and gravity step by step."""

from robodyn_ros.control.commissioning.findings import (
    CommissioningOutcome,
    CommissioningSettings,
    GravityStep,
    JointFindings,
)
from robodyn_ros.control.commissioning.procedure import Commissioning

__all__ = ["Commissioning", "CommissioningOutcome", "CommissioningSettings", "GravityStep", "JointFindings"]
