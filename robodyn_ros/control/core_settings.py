# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of a control loop for the core (the struct ``Settings`` of ``core/memory.h``).

The core calls compiled functions: the control step of the law, the model, the observer of contacts. If a law, a model
or an observer runs as Python, the core calls back into Python.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from robodyn_ros.control.compiled_step import FLAGS, REST, ROWS, CompiledStep
from robodyn_ros.control.contact import Contact
from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.faults.consistency import uncertainty_of
from robodyn_ros.control.faults.table import FAULTS, PHASES
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.loop_settings import LoopSettings, law_feedback
from robodyn_ros.control.momentum_observer import MomentumObserver
from robodyn_ros.control.step import Law, StepMemory, control_step, joined, step_settings, views, width
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program
from robodyn_ros.engine import Program, c_interface
from robodyn_ros.engine.c_interface import CStructs, Record, address_of
from robodyn_ros.engine.tracing import TraceError
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Array, ConfigurationSpace

log = logging.getLogger("robodyn_ros")

MODEL = ("gravity", "mass_matrix", "inverse", "forward")  #: Functions of the model that the core calls.

RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
JUDGE = ctypes.CFUNCTYPE(None)

Ahead = Callable[[float], Reference]  #: Time from the latest state [s] → the reference then, for a law that plans.


def array_at(address: int, *shape: int) -> Array:
    """An array of doubles at an address."""
    return np.ndarray(shape, np.float64, c_interface.memory_at(address, 8 * int(np.prod(shape))))


class CoreFunction:
    """A function that the core runs on arrays, at an address: a program, or a callback where it is not compiled.
    ``parts`` are the arrays, in the order of the code, ``arrays`` their addresses, ``constants`` depend on the
    parameters alone.
    """

    def __init__(
        self,
        widths: Iterable[int],
        program: Program | None = None,
        parameters: Array | None = None,
        callback: Callable[[int, int], None] | None = None,
    ) -> None:
        """A program with its parameters on arrays of these widths; ``callback``, which takes the addresses of
        ``arrays`` and ``constants``, is called if there is no program.
        """
        self.parts = [np.zeros(width) for width in widths]
        self.arrays = np.array([part.ctypes.data for part in self.parts], dtype=np.int64)
        library = None if program is None else c_interface.run_library(program)
        if program is None or parameters is None or library is None:
            assert callback is not None  # the core is compiled, so the program can be
            self._function, self.constants = RUN(callback), np.zeros(1)
        else:
            self._function = library[f"{program.name}_run"]
            self.constants = np.zeros(ctypes.c_int.in_dll(library, f"{program.name}_constants").value)
            given = (parameters, self.constants)
            library[f"{program.name}_prepare"](*(ctypes.c_void_p(item.ctypes.data) for item in given))
        self.address = address_of(self._function)


class StepInPython:
    """The control step of a law that cannot be traced; the core calls its function ``core``, which calls the law back.
    ``law_memory`` is empty: such a law keeps its memory itself. ``problem`` is the law's exception in the latest step.
    """

    def __init__(self, settings: LoopSettings, ahead: Ahead) -> None:
        self.law = law = settings.controller
        self.follows, self.law_memory = law.follows, np.zeros(0)
        self.problem: BaseException | None = None
        self._numbers, self._ahead, self._limit = step_settings(settings), ahead, settings.limits.effort
        self._in_numbers = Law(law)
        n = law.dynamics.robot.n
        widths = (2, *(n,) * 6, 0, 0, 0, len(ROWS) * n, len(FLAGS), width(StepMemory, n), 0)
        self.core = CoreFunction(widths, callback=self._run)

    def restore_law(self, values: Array) -> None:
        """Do nothing: the law keeps its memory itself."""

    def _run(self, arrays: int, constants: int) -> None:
        n, parts = self.law.dynamics.robot.n, self.core.parts
        flags = parts[CODES["FLAGS"]]
        try:
            t, dt = parts[0].tolist()
            q, qd, *reference = (part.copy() for part in parts[1:7])
            address = int(array_at(arrays, len(parts)).view(np.int64)[CODES["MEMORY"]])
            memory = views(StepMemory, array_at(address, width(StepMemory, n)).copy(), n)
            self.law.look_ahead(self._ahead, self._limit)
            result, after = control_step(self._in_numbers, t, dt, q, qd, Reference(*reference), memory, self._numbers)
            parts[CODES["RESULTS"]][:] = joined([*(getattr(result, name) for name in ROWS[:REST]), *result.efforts])
            parts[CODES["AFTER"]][:] = joined(after)
            flags[:] = 1.0, np.any(result.saturated), np.any(result.rate_limited)
            self.problem = None
        except BaseException as problem:  # any error of a plugin, or Ctrl-C: there are no efforts
            flags[0], self.problem = 0.0, problem


def model_function(dynamics: Dynamics, name: str, shape: Sequence[int]) -> Any:
    """A quantity of a model as a C function, compiled or called back; it gives NaN if it fails."""
    compiled = dynamics.plain_function(name) if isinstance(dynamics, CompiledDynamics) else None
    if compiled is not None:
        return compiled
    n, method = dynamics.robot.n, getattr(dynamics, name)
    count = 3 if name in ("inverse", "forward") else 1

    def called(*addresses: int) -> None:
        result = array_at(addresses[-1], *shape)
        try:
            result[...] = method(*(array_at(address, n).copy() for address in addresses[:count]))
        except Exception:  # of a plugin: the core detects the NaN
            result[...] = np.nan

    return ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * (count + 2))(called)


def start_model(dynamics: Dynamics) -> None:
    """Begin to compile the functions of a model that its check and the core call, in the background."""
    if isinstance(dynamics, CompiledDynamics) and dynamics.compiled:
        replaced = dynamics.replaced()
        for quantity in (name for name in (*MODEL, "terms") if name not in replaced):
            c_interface.start_library_of(dynamics.program(quantity))
        if not replaced:
            c_interface.start_library_of(sensitivity_program(dynamics))


class CoreSettings:
    """The settings of the core, the struct ``record``, which lives as long as this object; with the core's copy of the
    law's memory, and the ``rows`` of the latest control step (:data:`.compiled_step.ROWS`), (rows, n).
    """

    def __init__(
        self, structs: CStructs, settings: LoopSettings, step: CompiledStep | StepInPython, judge: Any = None
    ) -> None:
        """The C function ``judge`` judges the rate of the states at once; None if Python judges it later."""
        safety, dynamics = settings.safety, settings.controller.dynamics
        robot, n = dynamics.robot, dynamics.robot.n
        shapes = {"gravity": (n,), "mass_matrix": (n, n), "inverse": (n,), "forward": (n,)}
        self._functions = {name: model_function(dynamics, name, shape) for name, shape in shapes.items()}
        self.step, self._judge = step, judge
        run = self._run = self._step_function(step)
        self.law_memory = run.parts[CODES["LAW_MEMORY"]]
        self.rows = run.parts[CODES["RESULTS"]].reshape(len(ROWS), n)
        self._model = dynamics.symbols.copy() if isinstance(dynamics, CompiledDynamics) else np.zeros(1)
        self.record: Record = structs.make("Settings")
        values = {
            "step_run": run.address,
            **{name: address_of(function) for name, function in self._functions.items()},
            "judge": address_of(judge),
            "step_arrays": run.arrays.ctypes.data,
            "step_constants": run.constants.ctypes.data,
            "model": self._model.ctypes.data,
            "law_memory_width": len(self.law_memory),
            "circular": ConfigurationSpace(robot).circular,
            "lower": robot.lower,
            "upper": robot.upper,
            "acceleration": robot.acceleration_limit,
            "braking": robot.deceleration_limit,
            "jerk": robot.jerk_limit,
            **plain_values(settings),
            **self._observer_values(settings.contact),
            **self._sensitivity_values(dynamics),
            **({} if settings.tool is None else settings.tool.values(settings.stream)),
        }
        fields = self.record.fields
        values = {name: getattr(safety, name) for name in vars(fields) if hasattr(safety, name)} | values
        for part, given in ((fields, values), (fields.uncertainty, uncertainty_of(dynamics, settings.limits, safety))):
            for name, value in given.items():
                getattr(part, name)[...] = value

    def _sensitivity_values(self, dynamics: Dynamics) -> dict[str, int]:
        """The sensitivity of efforts, and its parameters; none for a model without compiled code."""
        if not isinstance(dynamics, CompiledDynamics) or not dynamics.compiled or dynamics.replaced():
            return {}
        self._sensitivity = c_interface.plain_function(sensitivity_program(dynamics)), sensitivity_parameters(dynamics)
        function, parameters = self._sensitivity
        return {"sensitivity": address_of(function), "sensitivity_model": parameters.ctypes.data}

    def _step_function(self, step: CompiledStep | StepInPython) -> CoreFunction:
        if isinstance(step, StepInPython):
            return step.core
        widths_in, widths_out = step.program.widths
        made = CoreFunction((*widths_in, len(step.parameters), *widths_out), step.program, step.parameters)
        made.parts[CODES["LAW_MEMORY"]][:], made.parts[CODES["SETTINGS"]][:] = step.law_memory, step.parameters
        return made

    def _observer_values(self, contact: Contact | None) -> dict[str, Any]:
        """The members of the struct ``Settings`` for the observation of contacts; none without an observer."""
        if contact is None:
            return {}
        observer = contact.observer
        observer.read_parameters()
        n, numbers = len(observer.bias), observer.parameters
        widths = (1, *(n,) * 4, 3 * n, len(numbers), 3 * n, n + 8)
        run = CoreFunction(widths, observer.program, numbers, lambda _, __: observe(observer, run.parts))
        run.parts[CODES["NUMBERS"]][:] = numbers
        self._observer = run  # keeps it alive
        return contact.thresholds._asdict() | {
            "observer_run": run.address,
            "observer_arrays": run.arrays.ctypes.data,
            "observer_constants": run.constants.ctypes.data,
            "judges_contact": contact.judges,
        }


def plain_values(settings: LoopSettings) -> dict[str, Any]:
    """The members of the struct ``Settings`` that are plain numbers, by name."""
    law, limits, safety, reactions = settings.controller, settings.limits, settings.safety, settings.reactions.values()
    robot = law.dynamics.robot
    gains = law_feedback(law) if law.follows else np.zeros((2, robot.n))
    return {
        "follows": law.follows,
        "reactions": [PHASES.index(each.reaction) for each in reactions],
        "latches": [fault.latches for fault in FAULTS.values()],
        "max_duration": [each.max_duration for each in reactions],
        "sent_ratio": 1.0 - (settings.drives or DriveCompensation.none(robot.n)).gravity,
        "velocity_limit": limits.velocity,
        "greatest_speed": safety.overspeed * limits.velocity,
        "tolerance": safety.following_tolerance if safety.following_tolerance > 0.0 and law.follows else np.inf,
        "effort_limit": limits.effort,
        "rate_limit": limits.rate,
        "deceleration": robot.deceleration_limit if settings.deceleration is None else settings.deceleration,
        "stiffness": settings.feedback.stiffness,
        "damping": settings.feedback.damping,
        "law_stiffness": gains[0],
        "law_damping": gains[1],
    }


def observe(observer: MomentumObserver, parts: list[Array]) -> None:
    """A period of an observer with a model in Python, on the arrays of the core; it gives NaN if it fails."""
    dt, q, qd, efforts, bias, memory, _, after, found = parts
    try:
        observer.memory[:], observer.bias[:] = memory, bias
        found[:] = observer.update(float(dt[0]), q, qd, efforts)
        after[:] = observer.memory
    except Exception:  # of a plugin: the core resets the observer
        found[:] = np.nan


def make_step(settings: LoopSettings, ahead: Ahead) -> CompiledStep | StepInPython:
    """The control step for settings, compiled if its law can be traced; one in Python asks ``ahead`` for references."""
    try:
        return CompiledStep(settings)
    except (TraceError, NotReadyError) as reason:
        log.debug("%s runs as Python: %s", type(settings.controller).__name__, reason)
        return StepInPython(settings, ahead)
