"""What some verbs need beside this package."""

from __future__ import annotations

from importlib.util import find_spec

from robodyn_ros.errors import ConfigurationError


def need_ros() -> None:
    """See that there is a ROS 2.

    Raises:
        ConfigurationError: there is none; the message says how to get one.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("there is no ROS 2 here: source an installation, or pip install 'robodyn_ros[ros]'")
