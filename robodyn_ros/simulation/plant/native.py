# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The native plant: the arm's own equations of motion with friction, stops, limits and any integrator.

:class:`Plant` makes its steps in C (``motion.c``, ``mechanism.c``); a step in which a joint reaches a stop or
comes to rest is exact. One library is compiled for each arm and integrator, from the arm's forward dynamics, the
integrator's step and the two files. A model or an integrator that is only Python is called back; then one library
serves all arms with as many joints. The C code works on a frame, which has the state of one arm.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.core_library import core_files
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.engine.c_interface import required, text_key
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import loaded
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.simulation.integrators.base import Integrator, Numbers, answer, checked_step, not_converged
from robodyn_ros.simulation.integrators.sdirk4 import SDIRK4
from robodyn_ros.simulation.plant import joint_effects
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, unstable
from robodyn_ros.simulation.plant.external_forces import Contact
from robodyn_ros.simulation.plant.joint_effects import FASTEST, FrictionSettings, JointEffects, StopSettings

FOLDER = Path(__file__).parent
MOTION, MECHANISM = ((FOLDER / f"{name}.c").read_text(encoding="utf-8") for name in ("motion", "mechanism"))

ROWS = (
    *("Q", "V", "EFFORT"),
    *("DIRECTION", "HELD", "OVER", "CONTACT"),
    *("Q_LOW", "Q_HIGH", "V_LOW", "V_HIGH"),
    *map(str.upper, JointEffects._fields),
)
"""Rows of a frame (len(ROWS), n): state and effort; the mode: direction of sliding, joints that are held, beyond their
velocity limit (+1 or -1), or at a compliant stop (+1 or -1), and its domain of positions and velocities; and the arm's
constants."""

FAILURES = ("NONE", "UNSOLVED", "BEYOND", "NOT_HELD")
"""Why a step failed: its equation was not solved, it leads beyond the range of a simulation, or no forces were found
that hold the joints at rest."""

CHUNK = 100_000
"""Most steps in one call. It lasts a tenth of a second or less, and Ctrl-C takes effect between two calls."""

IN_PYTHON = """#include <math.h>
#include <stdint.h>
#include <string.h>

#define CONSTANTS 1

/* A model in Python: its function is the last parameter, and the first is 0 for unit forces at rest without gravity. */
typedef void Forward(int is_whole, const double* q, const double* v, const double* force, double* a);

static void prepare(const double* p, double* k) { *k = 0; }

static void compute(const double* q, const double* v, const double* force, const double* p, const double* k,
                    double* a) {
  Forward* forward;
  memcpy(&forward, p + 3, sizeof forward);
  forward(p[0] != 0, q, v, force, a);
}
"""
"""The functions of a model that is only Python, in place of those of :func:`.scalar_source`."""

IN_PYTHON_PARAMETERS = 4
"""Number of its parameters: 1, two zeros in place of gravity, and the address of the function."""

STEP_IN_PYTHON = " return s->in_python(s, h, q, v, q1, v1); "
"""The body of an integrator's step that is only Python."""

FORWARD = ctypes.CFUNCTYPE(None, ctypes.c_int, Numbers, Numbers, Numbers, Numbers)
STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double, Numbers, Numbers, Numbers, Numbers)


def compiled_model(dynamics: Dynamics) -> CompiledDynamics | None:
    """The same dynamics, if they are compiled; None if C calls them back, as a subclass with its own ``forward``."""
    if isinstance(dynamics, CompiledDynamics) and dynamics.compiled and "forward" not in dynamics.replaced():
        return dynamics
    return None


def motion_library(dynamics: Dynamics, integrator: Integrator, find: Callable[..., Any] = loaded) -> Any:
    """The library of an arm and an integrator, loaded once in a process; its function ``rollout`` makes bare steps.

    ``find`` is :func:`.loaded`, or raises an error where there is no compiler. It is None where ``find`` finds none.
    """
    n, step, model = dynamics.robot.n, integrator.code or STEP_IN_PYTHON, compiled_model(dynamics)
    program = None if model is None else model.program("forward")
    parameters = IN_PYTHON_PARAMETERS if model is None else len(model.symbols)
    sizes = {"N": n, "P": parameters, "FASTEST": FASTEST}
    head = "".join(f"#define {name} {value}\n" for name, value in sizes.items())
    names = {"@advance": step, "@rows": ", ".join(ROWS), "@failures": ", ".join(FAILURES)}
    code = core_files()["cholesky.h"] + MOTION + MECHANISM
    for name, text in names.items():
        code = code.replace(name, text)
    key = text_key(f"{IN_PYTHON if program is None else program.key}\n{head}{code}")
    found = find("motion", key, lambda: (IN_PYTHON if program is None else scalar_source(program)) + head + code)
    if found is None:
        return None
    found.rollout.restype = found.plant_steps.restype = ctypes.c_int64
    found.plant_size.restype = found.plant_failure.restype = ctypes.c_int64
    found.plant_acceleration.restype = found.plant_create.restype = found.plant_begin.restype = None
    return found


class Plant(PlantBase):
    """The arm's own equations of motion, with friction, stops and limits.

    Attributes:
        integrator: in use.
        frame: state, effort, mode and constants of the arm, (len(ROWS), n); another loop in C may work on it.
        address: of the C structure ``Plant``.
        library: its functions.
    """

    carries = True

    def __init__(
        self,
        dynamics: Dynamics,
        settings: PlantSettings | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        *,
        friction: Sequence[FrictionSettings] | None = None,
        stops: StopSettings | Sequence[StopSettings] | None = None,
        velocity_limit: ArrayLike | None = None,
        integrator: str | Integrator = "rk4",
        contacts: Sequence[Contact] = (),
    ) -> None:
        """
        Args:
            dynamics: the equations of motion, without dry friction, as of :class:`PlantBase`.
            settings: the step of the integration; the default if None.
            effort_limit: (n,) in [N·m] or [N], inf where there is none; the URDF's if None.
            q0: initial position (n,) in [rad] or [m]; the nearest to zero within the position limits if None.
            friction: the friction of each joint; the URDF's if None.
            stops: one for every joint, or one for each; rigid and inelastic if None.
            velocity_limit: (n,) in [rad/s] or [m/s], inf where there is none; the URDF's if None.
            integrator: an integrator, or the name of its plugin. It integrates the smooth parts of the motion, unless
                friction, a stop or a contact is too stiff for it (:mod:`.joint_effects`, :mod:`.external_forces`).
            contacts: walls and springs that the arm may touch.

        Raises:
            InputError: an argument has the wrong shape or is out of range; q0 as in :meth:`reset`.
            PluginError: there is no such integrator.
            NotReadyError: there is no C compiler.
        """
        super().__init__(
            dynamics, settings, effort_limit, q0, velocity_limit, friction=friction, stops=stops, contacts=contacts
        )
        n, dt = dynamics.robot.n, self.settings.step
        rule = joint_effects.stable_integrator(integrator, dynamics, self.effects.viscous, dt)
        stiff = joint_effects.stops_are_stiff
        if not rule.adaptive and (stiff(dynamics, self.effects, dt) or self.outside.is_stiff(dynamics, dt)):
            rule = SDIRK4()
        self.integrator = rule
        self.library = motion_library(dynamics, rule, partial(required, "the simulation"))
        self.frame = np.vstack([np.zeros((len(ROWS) - len(self.effects), n)), *self.effects])
        self._beyond = np.zeros(n)
        self._problems: list[BaseException] = []  # of callbacks
        self._memory = ctypes.create_string_buffer(self.library.plant_size())
        self.address = ctypes.c_void_p(ctypes.addressof(self._memory))
        self._callback = STEP(self._on_step) if not rule.code else None
        self._forward = FORWARD(self._on_forward)
        model = compiled_model(dynamics)
        self._parameters = np.eye(IN_PYTHON_PARAMETERS)[0] if model is None else model.symbols
        if model is None:  # its last parameter is the address of the function
            self._parameters.view(np.uint64)[3] = ctypes.cast(self._forward, ctypes.c_void_p).value or 0
        self._model = ctypes.c_void_p(self._parameters.ctypes.data)
        arguments = ctypes.c_void_p(self.frame.ctypes.data), ctypes.c_double(dt), self._callback
        self.library.plant_create(self.address, *arguments)
        self.reset()

    def _begin(self) -> None:
        """Take the parameters of the model and the external forces as they are now."""
        self.library.plant_begin(self.address, self._model, self.outside.pointer)

    def _place(self, q: Array, qd: Array) -> None:
        self.frame[:2] = q, qd
        self._begin()
        if self.library.plant_settle(self.address):
            try:
                raise self.failure()
            finally:
                self.frame[:2] = self._q, self._qd
        self._keep(self.frame[0].copy(), self.frame[1].copy())

    def step(self, count: int = 1) -> None:
        """Make steps; see :meth:`PlantBase.step`."""
        left, has_failed = count, False
        self.release()
        while left > 0 and not has_failed:
            chunk = min(left, CHUNK)
            made: int = self.library.plant_steps(self.address, ctypes.c_int64(chunk))
            left, has_failed = left - made, made < chunk
        if left < count:
            self._keep(self.frame[0].copy(), self.frame[1].copy())
            self._steps += count - left
        if has_failed:
            raise self.failure()

    def release(self) -> None:
        """Let another loop in C work on the frame from now on."""
        self.frame[2] = self._effort
        self._begin()

    def acquire(self, steps: int) -> None:
        """Take over what a loop in C has made of the frame, with so many steps since the last reset."""
        self._keep(self.frame[0].copy(), self.frame[1].copy())
        self._effort, self._steps = read_only(self.frame[2]), steps

    def failure(self) -> SimulationError:
        """The error of the step that failed last, from the state in the frame.

        Raises:
            Exception: any other exception of a dynamics or integrator plugin.
        """
        problem = self._problems[-1] if self._problems else None
        self._problems.clear()
        if problem is not None and not isinstance(problem, InputError | SimulationError):
            raise problem
        if isinstance(problem, SimulationError):
            return problem
        kind = FAILURES[self.library.plant_failure(self.address, ctypes.c_void_p(self._beyond.ctypes.data))]
        q, qd, effort = self.frame[:3].copy()
        if problem is None and kind == "NOT_HELD":
            mass = self.dynamics.mass_matrix(q).tolist()
            return SimulationError(f"no forces of stops and friction were found at mass matrix {mass}")
        if problem is None and kind == "UNSOLVED":
            return not_converged(self.integrator, q, qd, self.settings.step)
        error = unstable(self.dynamics.robot, self.settings.step, qd, self._beyond if problem is None else qd, effort)
        error.__cause__ = problem  # the dynamics refused a state that is not finite
        return error

    def _acceleration(self, q: Array, qd: Array) -> Array:
        """The equation of motion in the mode of the frame."""
        arrays = [np.ascontiguousarray(q, np.float64), np.ascontiguousarray(qd, np.float64), np.empty(len(q))]
        self.library.plant_acceleration(self.address, *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        if self._problems:
            raise self._problems[-1]
        return arrays[2]

    def _on_forward(self, is_whole: int, q: Any, qd: Any, force: Any, result: Any) -> None:
        """The accelerations of a model in Python, for C."""

        def accelerations(q: Array, qd: Array, force: Array) -> list[Any]:
            if is_whole:
                return [self.dynamics.forward(q, qd, force)]
            return [np.linalg.solve(self.dynamics.mass_matrix(q), force)]

        answer(accelerations, (q, qd, force), (result,), len(self._beyond), self._problems)

    def _on_step(self, _system: int, h: float, q: Any, qd: Any, q1: Any, qd1: Any) -> int:
        """A step of an integrator in Python, for C; 1 if it fails."""

        def step(q: Array, qd: Array) -> tuple[Array, Array]:
            return checked_step(self.integrator, self._acceleration, q, qd, h)

        return int(not answer(step, (q, qd), (q1, qd1), len(self._beyond), self._problems))
