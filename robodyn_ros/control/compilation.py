"""What a control loop needs of the compiler, asked for at once, before the loop is made.

A loop asks for its libraries one after the other, where it first needs them, and waits for each. Who is about to make
a loop says so here: the compiler works on all processors then, while Python goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from robodyn_ros.control.compiled_loop import MODEL, loop_source
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.c_functions import start_library_of, text_key
from robodyn_ros.engine.library import start_library


def start_compiling(dynamics: Dynamics, around: Sequence[Path | None] = (None,)) -> None:
    """Begin to compile what every loop with a model runs, whatever its law.

    Args:
        dynamics: the model.
        around: C code that calls the loop, or None for the loop alone, as :func:`.loop_library` takes it.
    """
    if not isinstance(dynamics, CompiledDynamics) or not dynamics.compiled:
        return
    for code in around:
        source = loop_source(dynamics.robot.n, code)
        start_library("loop" if code is None else code.stem, text_key(source), partial(str, source))
    for quantity in MODEL:
        if quantity not in dynamics.replaced():
            start_library_of(dynamics.program(quantity))
