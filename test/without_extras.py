# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What fails because an optional package is missing, a test or a file of tests, is skipped, and says which.

A ROS 2 installation brings the packages that package.xml names, and nothing of the extras in setup.py. What needs one
says so in its error. Where the package is installed, a failure stays one, whatever it says.
"""

import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

ROS = {
    "rclpy", "launch", "launch_ros", "ament_index_python", "builtin_interfaces", "control_msgs", "diagnostic_msgs",
    "geometry_msgs", "lifecycle_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs",
    "trajectory_msgs", "visualization_msgs", "tf2_ros",
}  # fmt: skip
"""Modules of ROS 2."""

PACKAGES = {
    "ros": ["rclpy"],
    "plot": ["matplotlib"],
    "recording": ["rosbags"],
    "planning": ["toppra"],
    "sweep": ["dask", "distributed", "pyarrow"],
    "symbolic": ["sympy", "latex2mathml"],
    "completion": ["shtab"],
    "xacro": ["xacro"],
    "mujoco": ["mujoco"],
    "viewer": ["viser"],
    "example-robot-data": ["example-robot-data"],
    "airo-models": ["airo-models"],
    "pinocchio": ["pin"],
    "playwright": ["playwright"],
    "catkin-pkg": ["catkin-pkg"],
    "collada": ["pycollada"],
    "mpmath": ["sympy"],
    "PIL": ["matplotlib"],
    "sphinx": ["sphinx"],
    **{name: ["viser"] for name in ("msgspec", "trimesh", "websockets")},
    **{name.replace("_", "-"): ["rclpy"] for name in ROS},
}
"""Extra, or module that only the tests need → its packages. The extra ``test`` brings all but Sphinx and ROS 2."""

OPTIONAL = {package for packages in PACKAGES.values() for package in packages}

NAMED = re.compile(
    r"robodyn_ros\[(\w+)\]|pip install (mujoco)|No module named '(\w+)|No package metadata was found for ([\w-]+)"
)


def is_installed(package: str) -> bool:
    """Whether it is there: as a module, or as a package that holds data alone."""
    if find_spec(package.replace("-", "_")) is not None:
        return True
    try:
        return bool(distribution(package).version)
    except PackageNotFoundError:
        return False


def missing(text: str) -> str:
    """The package that is not installed, of those that the text of a failure names; "" if there is none."""
    for match in NAMED.finditer(text):
        name = next(filter(None, match.groups())).replace("_", "-")
        named = PACKAGES.get(name, [name] if name in OPTIONAL else [])
        if package := next((one for one in named if not is_installed(one)), ""):
            return package
    return ""


def skipped(report: Report, path: str, line: int | None = 0) -> Report:
    """A failure of a test or of a file's collection; one for want of a package is a skip."""
    if report.failed and (package := missing(f"{report.longrepr}\n{report.capstderr}")):
        report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {package} is not installed")
    return report
