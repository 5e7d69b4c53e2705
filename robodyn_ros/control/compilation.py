"""What a control loop needs of the compiler, asked for at once, before the loop is made.

A loop asks for its libraries one after the other, where it first needs them, and waits for each. Who is about to make
a loop says so here: the compiler works on all processors then, while Python goes on. A loop runs in Python with a law
that cannot be traced, and needs nothing of this.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from robodyn_ros.control.compiled_loop import MODEL, loop_source
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.traced import kind_problem
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.c_functions import start_library_of, text_key
from robodyn_ros.engine.library import start_library


def start_loop(n: int, law: type[Controller], around: Path | None = None) -> None:
    """Begin to compile the loop of n joints.

    Args:
        n: number of joints.
        law: class of the control law.
        around: C code that calls the loop and will be needed whatever the law (:func:`.loop_library`).
    """
    texts = {} if around is None else {around.stem: loop_source(n, around)}
    texts |= {} if kind_problem(law) else {"loop": loop_source(n)}
    for name, source in texts.items():
        start_library(name, text_key(source), partial(str, source))


def start_model(dynamics: Dynamics, law: type[Controller]) -> None:
    """Begin to compile what the loop calls of a model.

    Args:
        dynamics: the model.
        law: class of the control law.
    """
    if isinstance(dynamics, CompiledDynamics) and dynamics.compiled and not kind_problem(law):
        for quantity in set(MODEL).difference(dynamics.replaced()):
            start_library_of(dynamics.program(quantity))
