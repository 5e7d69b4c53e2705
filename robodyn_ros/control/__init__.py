"""What to command: control laws, gains, trajectories, and the loop that keeps to the limits."""

from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.adaptation import AdaptiveSettings
from robodyn_ros.control.laws.adaptive import Adaptive
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.disturbance_observer import DisturbanceObserver, DisturbanceObserverSettings
from robodyn_ros.control.laws.free_drive import FreeDrive
from robodyn_ros.control.laws.gains import Gains, JointGains, gains
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.laws.impedance import Impedance
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.limits import saturate
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.point_to_point import durations, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.step import Command

__all__ = [
    "PD",
    "Adaptive",
    "AdaptiveSettings",
    "Command",
    "ComputedTorque",
    "ControlLoop",
    "Controller",
    "DisturbanceObserver",
    "DisturbanceObserverSettings",
    "Efforts",
    "FreeDrive",
    "Gains",
    "GravityCompensation",
    "Impedance",
    "JointGains",
    "Reference",
    "SafetySettings",
    "Trajectory",
    "durations",
    "gains",
    "rest_to_rest",
    "saturate",
]
