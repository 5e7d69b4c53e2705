"""Whether the equations of an arm are short enough to be read, with letters or with numbers."""

from __future__ import annotations

from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError

JOINTS = 4
"""Of an arm with more no closed form can be read."""
TERMS = 200
"""Terms of M that can be read; where letters make it longer, the arm's numbers stand for themselves."""


def choose(dynamics: CompiledDynamics) -> ClosedForm:
    """With letters where that can be read, else with numbers."""
    numeric = ClosedForm(dynamics, numeric=True)
    if any(node.body.joint.mimic for node in numeric.tree.nodes) or terms(numeric) > TERMS:
        return numeric
    try:
        lettered = ClosedForm(dynamics, numeric=False)
    except InputError:  # an angle that has no name
        return numeric
    return lettered if terms(lettered) <= TERMS else numeric


def terms(form: ClosedForm) -> int:
    """Terms of M."""
    return sum(len(polynomial) for polynomial in form.mass_matrix.flat)
