"""What the numbers of an arm are called.

In the order of ``CompiledDynamics.theta``: for each body mass, first moment and inertia about the origin of its frame,
``m(hand)``, ``mx(hand)``, …, ``Izz(hand)``; then ``armature(wrist)``, …, ``viscous(wrist)``, …, ``coulomb(wrist)``.
"""

from __future__ import annotations

from robodyn_ros.robot import Robot

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten standard parameters of a body."""

MOMENT_DEGREE = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
"""With which power of length each of the ten grows."""

JOINT = ("armature", "viscous", "coulomb")
"""What each joint has besides."""


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Names of θ, (p,)."""
    bodies = [f"{kind}({body.name})" for body in robot.bodies for kind in INERTIAL]
    return (*bodies, *(f"{kind}({name})" for kind in JOINT for name in robot.joint_names))


def parameter_units(robot: Robot) -> tuple[str, ...]:
    """Units of θ, (p,)."""
    bodies = [("kg", "kg m", "kg m²")[degree] for _ in robot.bodies for degree in MOMENT_DEGREE]
    slides = [joint.is_prismatic for joint in robot.joints]
    armature = ["kg" if slide else "kg m²" for slide in slides]
    viscous = ["N·s/m" if slide else "N·m·s/rad" for slide in slides]
    return (*bodies, *armature, *viscous, *(joint.effort_unit for joint in robot.joints))
