# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""ament_python and pip build of robodyn_ros; what is optional is an extra."""

import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "robodyn_ros"
ROOT = Path(__file__).resolve().parent  # colcon build --symlink-install runs a link to this file, in another folder

NODES = ("controller", "simulator", "markers", "viewer", "planner", "teleoperator")


def commands() -> list[str]:
    """The commands. Names on the PATH have a prefix; in a workspace, ros2 run and launch files take the short names.

    There (``setup.py install``, or ``develop``) setup.cfg has them installed in ``lib/robodyn_ros``.
    """
    prefixed = [f"robodyn-{name} = {PACKAGE}.nodes.start:{name}" for name in NODES]
    short = [f"{name} = {PACKAGE}.nodes.start:{name}" for name in NODES]
    short.append(f"check = {PACKAGE}.cli.check:main")
    in_workspace = {"install", "develop"} & set(sys.argv)
    return [f"robodyn = {PACKAGE}.cli.main:main", *prefixed, *(short if in_workspace else ())]


def ros_wheels(distribution: str) -> list[str]:
    """ROS 2 from PyPI, for machines without a ROS 2 installation."""
    packages = (
        "rclpy",
        "rmw-fastrtps-cpp",
        "geometry-msgs",
        "sensor-msgs",
        "std-srvs",
        "trajectory-msgs",
        "diagnostic-msgs",
        "visualization-msgs",
        "lifecycle-msgs",
        "rosgraph-msgs",
    )
    return [f"ros-{distribution}-{package}" for package in packages]


setup(
    name=PACKAGE,
    version="0.1.0",
    description="Inverse and forward dynamics, model-based control and simulation of robot arms in ROS 2",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="robodyn_ros maintainers",
    maintainer="robodyn_ros maintainers",
    maintainer_email="maintainers@robodyn.invalid",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_dir={"": "."},  # so that "pip install -e" adds a path: an import hook comes after any folder "robodyn_ros"
    package_data={
        PACKAGE: [
            "py.typed",
            *(f"**/*.{kind}" for kind in ("c", "h", "cpp", "hpp", "in", "xml", "woff2", "html", "yaml")),
            "**/LICENSE",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        *(
            (f"share/{PACKAGE}/{folder}", sorted(glob(f"{folder}/*.*")))
            for folder in ("launch", "urdf", "config", "config/drives", "rviz")
        ),
    ],
    zip_safe=False,
    install_requires=["setuptools", "numpy>=1.26", "scipy>=1.11", "urdf-parser-py", "casadi>=3.6.4", "pyyaml", "rich"],
    extras_require={
        "ros": ros_wheels("kilted"),
        "ros-jazzy": ros_wheels("jazzy"),
        "plot": ["matplotlib>=3.6"],
        "recording": ["rosbags"],
        "planning": ["toppra"],
        "sweep": ["dask", "distributed", "pyarrow"],
        "symbolic": ["sympy", "latex2mathml"],
        "conformance": ["pytest"],
        "completion": ["shtab"],
        "xacro": ["xacro"],
        "descriptions": ["robot_descriptions"],
        "mujoco": ["mujoco"],
        "viewer": ["viser>=1.0", "pycollada"],
        "docs": ["sphinx", "myst-parser", "furo", "latex2mathml", "matplotlib"],
        "test": [
            "pytest",
            "pytest-timeout",
            "catkin-pkg",
            "hypothesis",
            "dask",
            "distributed",
            "pin",
            "pyarrow",
            "toppra",
            "mujoco",
            "example-robot-data",
            "airo-models",
            "latex2mathml",
            "matplotlib",
            "playwright",
            "rosbags",
            "shtab",
            "xacro",
            "sympy",
            "viser>=1.0",
            "pycollada",
            "ruff",
            "mypy",
        ],
    },
    entry_points={
        "console_scripts": commands(),
        "robodyn_ros.dynamics": [
            "lagrangian = robodyn_ros.dynamics.lagrangian:Lagrangian",
            "rnea = robodyn_ros.dynamics.rnea:RNEA",
        ],
        "pytest11": ["robodyn_ros = robodyn_ros.pytest_option"],
        "robodyn_ros.controllers": [
            "pd = robodyn_ros.control.laws.pd:PD",
            "gravity_compensation = robodyn_ros.control.laws.gravity_compensation:GravityCompensation",
            "computed_torque = robodyn_ros.control.laws.computed_torque:ComputedTorque",
            "impedance = robodyn_ros.control.laws.impedance:Impedance",
            "cartesian_impedance = robodyn_ros.control.laws.cartesian_impedance:CartesianImpedance",
            "operational_space = robodyn_ros.control.laws.operational_space:OperationalSpace",
            "free_drive = robodyn_ros.control.laws.free_drive:FreeDrive",
            "hand_guiding = robodyn_ros.control.laws.hand_guiding:HandGuiding",
            "mpc = robodyn_ros.planning.mpc:MPC",
            "adaptive = robodyn_ros.control.laws.adaptive:Adaptive",
            "disturbance_observer = robodyn_ros.control.laws.disturbance_observer:DisturbanceObserver",
        ],
        "robodyn_ros.integrators": [
            "explicit_euler = robodyn_ros.simulation.integrators.euler:ExplicitEuler",
            "semi_implicit_euler = robodyn_ros.simulation.integrators.euler:SemiImplicitEuler",
            "rk4 = robodyn_ros.simulation.integrators.rk4:RK4",
            "implicit_midpoint = robodyn_ros.simulation.integrators.implicit_midpoint:ImplicitMidpoint",
            "dop853 = robodyn_ros.simulation.integrators.dop853:DOP853",
        ],
        "robodyn_ros.plants": [
            "native = robodyn_ros.simulation.plant.native:Plant",
            "mujoco = robodyn_ros.simulation.plant.mujoco:MuJoCoPlant",
        ],
    },
)
