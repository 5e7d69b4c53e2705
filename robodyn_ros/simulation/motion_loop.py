"""C loops around an arm's compiled forward dynamics and an integrator's step: what makes a motion one call.

They are compiled into one library for each arm and integrator. ``rollout`` integrates the bare equations of motion from
first state to last. ``stretch`` integrates an arm with friction, stops and limits for as long as the mode that it is in
lasts (:mod:`robodyn_ros.simulation.mode`), and gives back how many steps that was: what comes next, a joint at its stop
or at rest, is for Python to find and resolve, with ``smooth``, a single step of any length.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.joints import Joints

CODE = Path(__file__).with_name("motion.c").read_text(encoding="utf-8")

ROWS = (
    *("Q", "V", "EFFORT"),
    *("DIRECTION", "HELD", "OVER", "CONTACT"),
    *("Q_LOW", "Q_HIGH", "V_LOW", "V_HIGH", "R_LOW", "R_HIGH"),
    *("SPEED", "VISCOUS", "COULOMB", "EXCESS", "RATE", "LOWER", "UPPER", "STIFFNESS", "DISSIPATION"),
)
"""What ``stretch`` and ``smooth`` work on, a frame (len(ROWS), n): state and effort, the mode, the arm's constants."""

MODE = slice(ROWS.index("DIRECTION"), ROWS.index("R_HIGH") + 1)
CONSTANTS = slice(ROWS.index("SPEED"), len(ROWS))

_libraries: dict[tuple[str, str], Any] = {}


def make_frame(joints: Joints) -> Array:
    """A frame of an arm, its constants filled in, (len(ROWS), n)."""
    friction, stops, velocity_limit = joints
    frame = np.zeros((len(ROWS), len(velocity_limit)))
    frame[CONSTANTS] = (
        *(velocity_limit, friction.viscous, friction.coulomb, friction.excess, friction.rate),
        *(stops.lower, stops.upper, stops.stiffness, stops.dissipation),
    )
    return frame


def motion_source(dynamics: CompiledDynamics, integrator: Integrator) -> str:
    """The C code that stands behind that of the arm's forward dynamics."""
    code = CODE.replace("@advance", integrator.code).replace("@rows", ", ".join(ROWS))
    return f"#define N {dynamics.robot.n}\n#define P {len(dynamics.symbols)}\n{code}"


def motion_library(dynamics: Dynamics, integrator: Integrator) -> Any:
    """The library with ``rollout`` and ``stretch`` for an arm, or None where there is no compiler, or nothing to
    compile; looked up once in a process.
    """
    if not (isinstance(dynamics, CompiledDynamics) and dynamics.compiled and integrator.code):
        return None
    program = dynamics.program("forward")
    known = program.key, integrator.code
    if known in _libraries:
        return _libraries[known]
    code = motion_source(dynamics, integrator)
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    path = find_library("motion", key, lambda: scalar_source(program) + code)
    if path is None:  # not remembered: there may be one later
        return None
    library = _libraries[known] = ctypes.CDLL(str(path))
    library.rollout.restype = library.stretch.restype = ctypes.c_longlong
    return library
