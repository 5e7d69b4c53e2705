"""The rules of the house: who may import whom, and that ROS stays in its room."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "robodyn_ros"

ROOMS = (
    "robot",
    "engine",
    "document",
    "kinematics",
    "dynamics",
    "control",
    "simulation",
    "identification",
    "planning",
    "view",
)
"""From the ground up: a room may import those before it, errors and plugins; nodes and cli may import any of them."""

ROS = {
    "rclpy", "launch", "launch_ros", "ament_index_python", "builtin_interfaces", "control_msgs", "diagnostic_msgs",
    "geometry_msgs", "lifecycle_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs",
    "trajectory_msgs", "visualization_msgs", "tf2_ros",
}  # fmt: skip

FILES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full names"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports(path: Path) -> None:
    here = room(path)
    for name in imports(path):
        top, *rest = name.split(".")
        assert top not in ROS or here == "nodes", f"{name}: only nodes/ speaks ROS"
        if top != "robodyn_ros" or not rest or not (PACKAGE / rest[0]).is_dir():
            continue
        assert rest[0] not in {"nodes", "cli"} or here == rest[0], f"{name}: nothing imports {rest[0]}/"
        if here in ROOMS:
            assert ROOMS.index(rest[0]) <= ROOMS.index(here), f"{name}: rooms depend downwards only"


def test_every_room_is_known() -> None:
    found = {room(path) for path in FILES} - {"", "nodes", "cli"}
    assert found <= set(ROOMS)


def test_only_the_ros_room_would_fail_without_ros() -> None:
    assert any(name.split(".")[0] in ROS for path in FILES if room(path) == "nodes" for name in imports(path))
