"""The derivation of an arm's equations of motion, step by step, as a document.

The way is Lagrange's: energies from the Jacobians of the centres of mass, and the equation from L = K - P (Siciliano et
al., Robotics: Modelling, Planning and Control, section 7.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from numpy.typing import ArrayLike

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.document.blocks import Document, Text, quoted
from robodyn_ros.errors import ConfigurationError, InputError

STEPS = (
    "arm",
    "frames",
    "com",
    "jacobians",
    "kinetic",
    "potential",
    "lagrangian",
    "mass_matrix",
    "coriolis",
    "gravity",
    "equations",
    "pose",
)
"""In the order of the document; the last one only where a pose is given, or where formulas would be too long."""


def derive(
    dynamics: Dynamics,
    steps: Sequence[str] = STEPS,
    *,
    numbers: bool = False,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
) -> Document:
    """The derivation for one arm.

    Args:
        dynamics: the arm, with its parameters.
        steps: some of ``STEPS``.
        numbers: write the arm's own numbers in the formulas, instead of letters.
        q: a pose for which numbers are given too, (n,) in [rad] or [m].
        qd: velocities there, (n,); 1 each unless given, as C is zero at rest.

    Returns:
        The document. Where formulas would be too long to read, it says so and gives numbers at a pose.

    Raises:
        InputError: no such step, or the pose is wrong.
        ConfigurationError: the plugin writes no expressions, or SymPy is not installed.
    """
    for step in steps:
        if step not in STEPS:
            raise InputError("step", f"{step!r} is not one of {', '.join(STEPS)}", step)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"{type(dynamics).__name__} computes numbers only: take rnea or lagrangian")
    if find_spec("sympy") is None:
        raise ConfigurationError("a derivation is written with SymPy: pip install 'robodyn_ros[symbolic]'")
    from robodyn_ros.dynamics.derivation.general import REMARK, general_sections
    from robodyn_ros.dynamics.derivation.pose import pose_section
    from robodyn_ros.dynamics.derivation.steps import closed_sections, readable_form

    form = readable_form(dynamics, numbers)
    sections = general_sections(dynamics) if form is None else closed_sections(dynamics, form)
    if q is not None or qd is not None or form is None:
        sections.append(pose_section(dynamics, q, qd))
    title = f"Equations of motion of the arm {quoted(dynamics.robot.name)}"
    chosen = tuple(section for section in sections if section.name in steps)
    return Document(title, (Text(REMARK),) if form is None else (), chosen)
