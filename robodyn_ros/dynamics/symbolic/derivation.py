# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The derivation of an arm's equations of motion, step by step, as a document.

:func:`derive` checks what is asked, and chooses: an arm whose closed form can be read gets formulas in every step
(``closed_steps``), any other the general formulas with its constants (``general_steps``). Both need SymPy.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from robodyn_ros.checks import check_choice
from robodyn_ros.document.blocks import Document, PictureBlock, TextBlock, quoted
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import ConfigurationError, need
from robodyn_ros.kinematics.sketch import WIDTH, sketch

STEPS = (
    *("arm", "frames", "com", "jacobians", "kinetic", "potential"),
    *("lagrangian", "mass_matrix", "coriolis", "gravity", "equations", "pose"),
)
"""In the order of the document. The last one is always there if a pose is given, or if formulas would be too long."""

REMARK = (
    "The closed form of this arm would fill pages. So this document gives the steps for any arm, the constants of this"
    " arm, and M, C and G as numbers at a pose."
)


def derive(
    dynamics: Dynamics,
    steps: Sequence[str] = STEPS,
    *,
    numbers: bool = False,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
) -> Document:
    """Return the derivation for one arm.

    Args:
        dynamics: the arm, with its parameters.
        steps: some of ``STEPS``.
        numbers: write the arm's own numbers in the formulas, instead of symbols.
        q: a pose for which numbers are given too, (n,) in [rad] or [m].
        qd: velocities there, (n,); 1 each unless given, as C is zero at rest.

    Returns:
        The document. Where formulas would be too long to read, it says so and gives numbers at a pose.

    Raises:
        InputError: no such step, or the pose is wrong.
        ConfigurationError: the plugin writes no expressions, or SymPy is not installed.
    """
    for step in steps:
        check_choice("step", step, STEPS)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"{type(dynamics).__name__} computes numbers only: take rnea or lagrangian")
    need("sympy", "a derivation is written with SymPy", "robodyn_ros[symbolic]")
    from robodyn_ros.dynamics.symbolic.closed_steps import closed_sections, readable_form
    from robodyn_ros.dynamics.symbolic.general_steps import general_sections, pose_section

    pose = None if q is None and qd is None else pose_section(dynamics, q, qd)
    form = readable_form(dynamics, numbers)
    sections = general_sections(dynamics) if form is None else closed_sections(dynamics, form, steps)
    if pose or form is None:
        sections.append(pose or pose_section(dynamics, q, qd))
    title = f"Equations of motion of the arm {quoted(dynamics.robot.name)}"
    robot = dynamics.robot
    told = f"The arm {robot.name}: links, joints, frames and centres of mass, and its coordinates from their zeros"
    picture = PictureBlock(sketch(robot, q, frames="equations"), "image/svg+xml", told, WIDTH)
    sections = [section.extended([picture]) if section.name == "frames" else section for section in sections]
    chosen = tuple(section for section in sections if section.name in steps or section.name == "pose")
    return Document(title, (TextBlock(REMARK),) if form is None else (), chosen)
