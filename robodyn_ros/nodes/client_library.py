# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of rclpy that differ between distributions, or that rclpy does not export.

Names that Lyrical's rclpy removed (the older names of QoS policies, ``qos_event``, parameters declared by name alone)
are used nowhere in this package; ``test_house.py`` holds that. If rclpy moves one of these, only this file changes.
"""

from __future__ import annotations

from rclpy._rclpy_pybind11 import RCLError, RMWError
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.type_support import check_for_type_support

try:
    from rclpy.experimental import EventsExecutor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as EventsExecutor

__all__ = ["EventsExecutor", "RCLError", "RMWError", "check_for_type_support", "rclpy_implementation"]
