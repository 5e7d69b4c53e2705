# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The consistency of states (``control/core/consistency.c``) alone, without a loop."""

import ctypes
from typing import Any

import numpy as np

from robodyn_ros.control import SafetySettings
from robodyn_ros.control.core_library import CODES, core_structs, core_text
from robodyn_ros.control.core_settings import model_function
from robodyn_ros.control.faults.consistency import SETTINGS, uncertainty_of
from robodyn_ros.control.faults.table import PROBLEMS
from robodyn_ros.control.limits import Limits
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program
from robodyn_ros.engine.c_interface import plain_function, text_key
from robodyn_ros.engine.library import loaded

VERDICTS = ("TRUSTED", "DROPPED", "BLIND", "FAULTY")

ALONE = """
int consistency_alone(const Settings* s, Consistency* c, double t, double age, const double* q, const double* qd,
                      const double* effort) {
  return check_consistency(s, c, t, age, q, qd, effort);
}
void reset_alone(Consistency* c) { reset_consistency(c); }
"""
"""Names for what the core keeps to itself."""


def pointer(array: Any) -> ctypes.c_void_p:
    """Where an array is."""
    return ctypes.c_void_p(array.ctypes.data)


class ConsistencyMonitor:
    """Watches states and efforts of an arm.

    Attributes:
        memory: members of the struct ``Consistency``, as views.
        verdict: the latest one.
    """

    def __init__(self, dynamics: CompiledDynamics, **settings: float) -> None:
        """
        Args:
            dynamics: the model.
            **settings: fields of ``SafetySettings`` that differ from the defaults.
        """
        robot, n = dynamics.robot, dynamics.robot.n
        source = f"#define _GNU_SOURCE\n#define CORE_JOINTS {n}\n{core_text('consistency.c')}{ALONE}"
        self._library: Any = loaded("consistency", text_key(source), lambda: source)
        self._settings, self._record = core_structs(n).make("Settings"), core_structs(n).make("Consistency")
        self.memory, given = self._record.fields, self._settings.fields
        limits = Limits.of(robot, robot.effort_limit)
        for name, value in uncertainty_of(dynamics, limits, SafetySettings(**settings)).items():
            getattr(given.uncertainty, name)[...] = value
        self._bodies, self._model = sensitivity_parameters(dynamics), dynamics.symbols.copy()
        self._functions = {
            "inverse": model_function(dynamics, "inverse", (n,)),
            "mass_matrix": model_function(dynamics, "mass_matrix", (n, n)),
            "sensitivity": plain_function(sensitivity_program(dynamics)),
        }
        for name, function in self._functions.items():
            getattr(given, name)[...] = ctypes.cast(function, ctypes.c_void_p).value
        given.model[...], given.sensitivity_model[...] = self._model.ctypes.data, self._bodies.ctypes.data
        self._call = self._library.consistency_alone
        self._call.argtypes = [*(ctypes.c_void_p,) * 2, *(ctypes.c_double,) * 2, *(ctypes.c_void_p,) * 3]
        self.verdict = "TRUSTED"
        self.acknowledge()

    def acknowledge(self) -> None:
        """Begin anew."""
        self._library.reset_alone(pointer(self._record.array))

    def update(self, t: float, q: Any, qd: Any, effort: Any = None, age: float = 0.0) -> str:
        """Take in a state; gives the verdict.

        Args:
            t: its time [s].
            q: positions (n,).
            qd: velocities (n,).
            effort: mean effort since the state before it (n,); None if it is unknown.
            age: how old it is [s].
        """
        q, qd = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(qd, dtype=float)
        given = None if effort is None else np.ascontiguousarray(effort, dtype=float)
        code = self._call(
            pointer(self._settings.array),
            pointer(self._record.array),
            t,
            age,
            pointer(q),
            pointer(qd),
            None if given is None else pointer(given),
        )
        self.verdict = VERDICTS[code]
        return self.verdict

    @property
    def problem(self) -> tuple[str, int, str]:
        """What is wrong: its name in the core, the joint, and the setting that explains most of what is allowed."""
        kind = next(name for name in PROBLEMS if CODES[name] == int(self.memory.problem))
        return kind, int(self.memory.joint), SETTINGS[int(self.memory.setting)]
