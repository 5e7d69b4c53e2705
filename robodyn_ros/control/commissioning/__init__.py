"""Switching an arm on for the first time: one joint at a time, with little effort, and gravity step by step."""

from robodyn_ros.control.commissioning.findings import CommissioningConfig, GravityStep, JointFindings, Outcome
from robodyn_ros.control.commissioning.procedure import Commissioning

__all__ = ["Commissioning", "CommissioningConfig", "GravityStep", "JointFindings", "Outcome"]
