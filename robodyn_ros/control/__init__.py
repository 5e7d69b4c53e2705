"""What to command: control laws, gains, trajectories, and the loop that keeps to the limits."""

from robodyn_ros.control.adaptive import Adaptive
from robodyn_ros.control.adaptive_settings import AdaptiveConfig
from robodyn_ros.control.base import Controller, Efforts, Reference
from robodyn_ros.control.command import Command
from robodyn_ros.control.computed_torque import ComputedTorque
from robodyn_ros.control.disturbance_observer import DisturbanceObserver, DisturbanceObserverConfig
from robodyn_ros.control.free_drive import FreeDrive
from robodyn_ros.control.gains import Gains, JointGains, gains
from robodyn_ros.control.gravity_compensation import GravityCompensation
from robodyn_ros.control.impedance import Impedance
from robodyn_ros.control.limits import saturate
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.pd import PD
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import durations, rest_to_rest

__all__ = [
    "PD",
    "Adaptive",
    "AdaptiveConfig",
    "Command",
    "ComputedTorque",
    "ControlLoop",
    "Controller",
    "DisturbanceObserver",
    "DisturbanceObserverConfig",
    "Efforts",
    "FreeDrive",
    "Gains",
    "GravityCompensation",
    "Impedance",
    "JointGains",
    "LoopConfig",
    "Reference",
    "Trajectory",
    "durations",
    "gains",
    "rest_to_rest",
    "saturate",
]
