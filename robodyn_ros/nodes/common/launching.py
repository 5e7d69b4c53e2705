# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The common part of the launch files: an arm's URDF and parameter files, and the ros2_control side."""

from __future__ import annotations

import atexit
import xml.etree.ElementTree as ET
from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from robodyn_ros.control.parameter_file import FileParameters, parameters_text, read_parameters
from robodyn_ros.errors import ConfigurationError, RobotDescriptionError, is_it
from robodyn_ros.robot import DescriptionSettings, Robot, read_document
from robodyn_ros.robot.reduction import joints_between
from robodyn_ros.robot.urdf import ACCEPTED, build
from robodyn_ros.settings import NONE, split_names

SWITCH = ("true", "false", "True", "False", "1", "0")
"""Values of a launch argument that is on or off."""

Argument = tuple[str, str] | tuple[str, str, tuple[str, ...]]
"""Default and description of a launch argument, and its choices if there are any."""

ACCEPT: dict[str, Argument] = {"accept": (NONE, f"{ACCEPTED}; as a,b,c")}
"""The launch argument for the settings of the description."""

FORWARD = "forward_command_controller/ForwardCommandController"
"""The type of a ros2_control controller that passes on commands for one kind of interface."""


def declared(arguments: Mapping[str, Argument]) -> list[Any]:
    """The actions that declare launch arguments, which ros2 launch --show-args lists."""
    from launch.actions import DeclareLaunchArgument

    return [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices[0] if choices else None)
        for name, (default, text, *choices) in arguments.items()
    ]


def read_urdf(robot: str, share: Path) -> str:
    """The URDF of an arm, as text.

    Args:
        robot: as for :func:`~robodyn_ros.robot.load_robot`: a URDF file, a .xacro file with its arguments
            (``arm.urdf.xacro side:=left``), the name of an arm of this package or of ``robot_descriptions``.
        share: the package's share folder.

    Raises:
        ConfigurationError: it is none of these, or cannot be read.
    """
    own = share / "urdf" / f"{robot}.urdf"
    try:
        return read_document(str(own) if own.is_file() else robot).text
    except RobotDescriptionError as problem:
        names = ", ".join(sorted(path.stem for path in (share / "urdf").glob("*.urdf")))
        told = f"robot: {problem.located}"
        if f"({names})" not in told:
            told += f"; the arms of this package are {names}"
        raise ConfigurationError(told) from problem


def accepted(given: Mapping[str, str]) -> dict[str, list[str]]:
    """The parameter ``accept`` for its launch argument; nothing without one, as a parameter file may have it.

    Args:
        given: name → value of the launch arguments.
    """
    names = split_names(given["accept"])
    return {"accept": names} if names not in ([], [NONE]) else {}


def parameters_of(given: Mapping[str, str], *names: str) -> dict[str, str]:
    """The parameters with the names of launch arguments; without those that are empty, which a parameter file may have.

    Args:
        given: name → value of the launch arguments.
        names: of these arguments.
    """
    return {name: given[name] for name in names if given[name]}


def read_arm(given: Mapping[str, str], urdf: str, files: Iterable[str]) -> Robot:
    """The arm as its node will read it.

    An arm that its node would refuse is refused before anything is started: ros2 launch has no exit code for a node
    that ends with an error.

    Args:
        given: name → value of the launch arguments.
        urdf: of the arm.
        files: of :func:`parameter_files`, which may have ``accept``.

    Raises:
        RobodynError: ``accept`` is wrong, or the URDF does not describe an arm.
    """
    own = [read_parameters(Path(path), "any") for path in files]
    parameters = FileParameters(dict(ChainMap(accepted(given), *own)), {})
    return build(read_document(urdf), parameters.settings(DescriptionSettings))


def chosen_joints(given: Mapping[str, str], robot: Robot) -> dict[str, list[str]]:
    """The parameter ``joints`` for the launch arguments ``root`` and ``tip``; nothing without them.

    Raises:
        RobodynError: the arm has no such links.
    """
    if not (given["root"] or given["tip"]):
        return {}
    return {"joints": list(joints_between(robot, given["root"], given["tip"]))}


def parameter_files(
    robot: str, config: str, share: Path, node: str, namespace: str = "", *, named: bool = False
) -> list[str]:
    """The parameters of a node in the file of an arm, as a file for any node: the launch arguments override it.

    The file is the one given, else the one that comes with the arm, if any. It may leave the namespace of the node out.

    Args:
        robot: name or path of the arm.
        config: path of the file; empty for the one that comes with the arm.
        share: the package's share folder.
        node: name of the node that the parameters are for.
        namespace: of the node; empty for none.
        named: as for :func:`.read_parameters`; for nodes beside the controller, to which sections for any node belong.

    Raises:
        ConfigurationError: the one given does not exist.
        InputError: it cannot be read.
    """
    if config and not Path(config).is_file():
        raise ConfigurationError(f"config: there is no file {config!r}")
    path = Path(config) if config else share / "config" / f"{robot}.yaml"
    if not path.is_file():
        return []
    with NamedTemporaryFile("w", encoding="utf-8", prefix="robodyn-", suffix=".json", delete=False) as file:
        file.write(parameters_text(read_parameters(path, node, namespace, named=named)))
    # Until the launch ends: a node that is started again reads it.
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return [file.name]


def in_namespace(namespace: str, nodes: list[Any]) -> list[Any]:
    """The actions for ``ros2 launch``: the nodes as they are, or in a namespace, with a clock and a tf of its own.

    Args:
        namespace: empty for none.
        nodes: actions of ``launch_ros``.
    """
    if not namespace:
        return nodes
    from launch.actions import GroupAction
    from launch_ros.actions import PushRosNamespace, SetRemap

    own = [SetRemap(f"/{topic}", topic) for topic in ("clock", "tf", "tf_static")]
    return [GroupAction([PushRosNamespace(namespace), *own, *nodes])]


def need_package(package: str, without: str) -> None:
    """Check that a package is installed before anything is started.

    launch looks for it only when its node is due, and would not end the nodes it has started, such as a controller.

    Args:
        package: its name.
        without: what leaves it out, a launch argument with its value.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        get_package_prefix(package)
    except PackageNotFoundError as cause:
        raise ConfigurationError(f"{package} is not installed; install it, or leave it out: {without}") from cause


def root_link(urdf: str) -> str:
    """Name of the root link.

    Raises:
        RobotDescriptionError: there is none, or the URDF cannot be read.
    """
    root = read_document(urdf).root
    children = {child.get("link") for child in root.findall("joint/child")}
    for link in root.findall("link"):
        if link.get("name") not in children:
            return str(link.get("name"))
    raise RobotDescriptionError("robot_description", "has no root link")


class ControllerManager(NamedTuple):
    """The parts of a controller_manager's parameter file that the launch files need."""

    path: Path  # of the file
    controllers: tuple[str, ...]  # names, in the order of the file
    efforts: str  # name of the controller that takes efforts
    joints: tuple[str, ...]  # its joints, in its order

    @property
    def commands(self) -> str:
        """The topic that the efforts go to."""
        return f"/{self.efforts}/commands"

    def check_joints(self, robot: Robot, joints: Any, by: str) -> None:
        """Check that the controller's joints are of the arm, and those that are chosen elsewhere, in any order.

        Args:
            robot: the arm.
            joints: value of the parameter ``joints``; None or empty if it chooses none.
            by: what chooses them, as subject and verb.

        Raises:
            ConfigurationError: they are others, or no list of names.
        """
        for name in self.joints:
            if name not in robot.joint_names:
                known = f"the arm has {', '.join(robot.joint_names)}{is_it(name, robot.joint_names)}"
                problem = f"{self.efforts} of {self.path} takes the effort of {name!r}, but {known}"
                raise ConfigurationError(f"ros2_control: {problem}")
        if joints and not (isinstance(joints, list) and sorted(map(str, joints)) == sorted(self.joints)):
            problem = f"{self.efforts} of {self.path} takes the efforts of {list(self.joints)}, but {by} {joints!r}"
            raise ConfigurationError(f"ros2_control: {problem}: name the same joints in both, or choose none")


def read_controller_manager(path: Path) -> ControllerManager:
    """Read a parameter file of a controller_manager.

    Raises:
        InputError: it cannot be read.
        ConfigurationError: it does not have exactly one forward_command_controller for efforts, or that has no joints.
    """
    manager = read_parameters(path, "controller_manager")
    types = {name.removesuffix(".type"): kind for name, kind in manager.items() if name.endswith(".type")}
    forward = {name: read_parameters(path, name) for name, kind in types.items() if kind == FORWARD}
    effort = [name for name, given in forward.items() if given.get("interface_name") == "effort"]
    if len(effort) != 1:
        named = ", ".join(effort) or "none"
        problem = f"needs one controller of type {FORWARD} with interface_name: effort, it has {named}"
        raise ConfigurationError(f"ros2_control: {path} {problem}")
    joints = forward[effort[0]].get("joints")
    if not (isinstance(joints, list) and joints and all(isinstance(joint, str) for joint in joints)):
        problem = f"joints of {effort[0]} in {path} must be a list of names, not {joints!r}"
        raise ConfigurationError(f"ros2_control: {problem}")
    return ControllerManager(path, tuple(types), effort[0], tuple(joints))


def with_hardware(urdf: str, path: Path) -> str:
    """Add the ``<ros2_control>`` tag of a file to a URDF.

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
