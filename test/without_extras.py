# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A test that fails because an optional package is missing is skipped, and says which.

A ROS 2 installation brings the packages that package.xml names, and nothing of the extras in setup.py. What needs one
says so in its error. Where the package is installed, a failure stays one, whatever it says.
"""

from __future__ import annotations

import re
from importlib.util import find_spec

MODULES = {
    "plot": ["matplotlib"],
    "recording": ["rosbags"],
    "planning": ["toppra"],
    "sweep": ["dask", "distributed", "pyarrow"],
    "symbolic": ["sympy", "latex2mathml"],
    "completion": ["shtab"],
    "xacro": ["xacro"],
    "descriptions": ["robot_descriptions"],
    "mujoco": ["mujoco"],
    "viewer": ["viser"],
    "example-robot-data": ["example_robot_data"],
    "airo-models": ["airo_models"],
}
"""Extra, or package that only the tests need → its modules."""

OPTIONAL = {module for modules in MODULES.values() for module in modules}

NAMED = re.compile(
    r"robodyn_ros\[(\w+)\]|pip install (mujoco)|No module named '(\w+)|No package metadata was found for ([\w-]+)"
)


def missing(text: str) -> str:
    """The module that is not installed, of those that the text of a failure names; "" if there is none."""
    for match in NAMED.finditer(text):
        name = next(filter(None, match.groups()))
        named = MODULES.get(name, [name] if name in OPTIONAL else [])
        if module := next((one for one in named if find_spec(one) is None), ""):
            return module
    return ""
