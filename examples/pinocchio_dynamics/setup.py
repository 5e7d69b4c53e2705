# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A dynamics plugin for robodyn_ros, in a package of its own."""

from setuptools import setup

setup(
    name="robodyn_pinocchio",
    version="0.1.0",
    description="Dynamics of robodyn_ros by Pinocchio",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=["robodyn_pinocchio"],
    install_requires=["robodyn_ros", "pin"],
    entry_points={"robodyn_ros.dynamics": ["pinocchio = robodyn_pinocchio.dynamics:PinocchioDynamics"]},
)
