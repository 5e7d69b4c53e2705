"""What the launch files share: from the name of an arm to what its nodes are given."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from robodyn_ros.errors import ConfigurationError, RobotDescriptionError


def read_urdf(robot: str, share: Path) -> str:
    """The URDF of an arm.

    Args:
        robot: path of a URDF file, or the name of an arm that comes with the package.
        share: the package's share folder.

    Raises:
        ConfigurationError: neither of the two.
    """
    own = share / "urdf" / f"{robot}.urdf"
    for path in (own, Path(robot)):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    names = ", ".join(sorted(path.stem for path in own.parent.glob("*.urdf")))
    raise ConfigurationError(f"robot: {robot!r} is neither a URDF file nor one of {names}")


def parameter_files(robot: str, config: str, share: Path) -> list[str]:
    """The parameter files of an arm: the one given, else the one that comes with it, if any.

    Raises:
        ConfigurationError: the one given does not exist.
    """
    if config:
        if not Path(config).is_file():
            raise ConfigurationError(f"config: there is no file {config!r}")
        return [config]
    own = share / "config" / f"{robot}.yaml"
    return [str(own)] if own.is_file() else []


def need_package(package: str, argument: str, without: str = "false") -> None:
    """See that a package is there before anything is started.

    launch looks for it only when its turn comes, and then leaves behind what it has started, such as a controller.

    Args:
        package: its name.
        argument: the launch argument that leaves it out.
        without: its value for that.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        get_package_prefix(package)
    except PackageNotFoundError as cause:
        raise ConfigurationError(
            f"{package} is not installed; install it, or leave it out: {argument}:={without}"
        ) from cause


def root_link(urdf: str) -> str:
    """Name of the link that the others hang on.

    Raises:
        RobotDescriptionError: there is none, or the URDF cannot be read.
    """
    try:
        root = ET.fromstring(urdf)
    except ET.ParseError as cause:
        raise RobotDescriptionError("robot_description", f"is not XML: {cause}") from cause
    children = {child.get("link") for child in root.findall("joint/child")}
    for link in root.findall("link"):
        if link.get("name") not in children:
            return str(link.get("name"))
    raise RobotDescriptionError("robot_description", "has no root link")
