"""What the launch file has to know of a ros2_control side: which controller takes efforts there, of which joints."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.errors import ConfigurationError

PARAMETERS = "ros__parameters"

FORWARD = "forward_command_controller/ForwardCommandController"
"""The type of controller that takes commands for one kind of interface as they come."""


class ControllerManager(NamedTuple):
    """A controller_manager's parameter file, as far as it matters here."""

    controllers: tuple[str, ...]  # names, in the order of the file
    efforts: str  # name of the one that takes efforts
    joints: tuple[str, ...]  # whose, in its order

    @property
    def commands(self) -> str:
        """The topic that the efforts go to."""
        return f"/{self.efforts}/commands"


def read_controller_manager(path: Path) -> ControllerManager:
    """Read a parameter file of a controller_manager.

    Raises:
        ConfigurationError: it cannot be read, or has not just one forward_command_controller for efforts.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise ConfigurationError(f"ros2_control: {path} cannot be read: {' '.join(str(cause).split())}") from cause
    manager = _parameters(content, "controller_manager")
    types = {name: part["type"] for name, part in manager.items() if isinstance(part, dict) and "type" in part}
    forward = [name for name, kind in types.items() if kind == FORWARD]
    effort = [name for name in forward if _parameters(content, name).get("interface_name") == "effort"]
    if len(effort) != 1:
        named = ", ".join(effort) or "none"
        problem = f"needs one controller of type {FORWARD} with interface_name: effort, it has {named}"
        raise ConfigurationError(f"ros2_control: {path} {problem}")
    joints = _parameters(content, effort[0]).get("joints")
    if not isinstance(joints, list) or not joints:
        raise ConfigurationError(f"ros2_control: {path} has no joints for {effort[0]}")
    return ControllerManager(tuple(types), effort[0], tuple(joints))


def with_hardware(urdf: str, path: Path) -> str:
    """A URDF with the ``<ros2_control>`` tag of a file in it.

    Raises:
        ConfigurationError: the file cannot be read, or holds another tag; one of the two is not XML.
    """
    try:
        robot = ET.fromstring(urdf)
        hardware = ET.fromstring(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ET.ParseError) as cause:
        raise ConfigurationError(f"hardware: {path} cannot be put into the URDF: {cause}") from cause
    if hardware.tag != "ros2_control":
        raise ConfigurationError(f"hardware: the tag of {path} is <{hardware.tag}>, not <ros2_control>")
    robot.append(hardware)
    return ET.tostring(robot, encoding="unicode")


def _parameters(content: Any, node: str) -> dict[str, Any]:
    part = content.get(node) if isinstance(content, dict) else None
    found = part.get(PARAMETERS) if isinstance(part, dict) else None
    return found if isinstance(found, dict) else {}
