"""``control/core/consistency.c`` by itself, beside any loop."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program
from robodyn_ros.engine.c_functions import plain_function, text_key
from robodyn_ros.engine.c_structs import CStructs
from robodyn_ros.engine.library import loaded

CODE = Path(__file__).parents[1] / "robodyn_ros" / "control" / "core" / "consistency.c"

HEAD = "#include <math.h>\n#include <stdint.h>\n#define EACH for (int i = 0; i < N; ++i)\n"

VERDICTS = ("trusted", "dropped", "blind", "faulty")
KINDS = ("consistent", "not numbers", "position off velocity", "velocity off", "stands driven", "drive disobeys")
BOUNDS = ("position noise", "velocity noise", "delay", "friction", "masses", "payload", "push")

DEFAULTS = {
    "position_noise": 1e-3,
    "velocity_noise": 0.02,
    "delay": 0.008,
    "friction": 0.1,
    "masses": 0.1,
    "payload": 1.0,
    "push": 40.0,
    "drop_time": 0.01,
    "alarm_interval": 1000.0,
}


def pointer(array: Any) -> ctypes.c_void_p:
    """Where an array is."""
    return ctypes.c_void_p(array.ctypes.data)


class ConsistencyMonitor:
    """Watches states and efforts of an arm.

    Attributes:
        memory: the struct ``Consistency``.
        verdict: the latest one.
    """

    def __init__(self, dynamics: CompiledDynamics, **settings: float) -> None:
        """
        Args:
            dynamics: the model.
            **settings: that differ from :data:`DEFAULTS`.
        """
        robot = dynamics.robot
        n, text = robot.n, CODE.read_text(encoding="utf-8")
        source = f"#define N {n}\n{HEAD}{text}"
        structs = CStructs(text, {"N": n})
        self._library: Any = loaded("consistency", text_key(source), lambda: source)
        self.uncertainty, self._model = structs.make("Uncertainty"), structs.make("ConsistencyModel")
        self.memory = structs.make("Consistency")
        values = {
            **DEFAULTS,
            **settings,
            "effort_limit": robot.effort_limit,
            "velocity_limit": robot.velocity_limit,
            "lower": robot.lower,
            "upper": robot.upper,
            "coulomb": np.maximum(dynamics.parameters.coulomb, robot.friction),
            "viscous": np.maximum(dynamics.parameters.viscous, robot.damping),
            "model_coulomb": dynamics.parameters.coulomb,
            "model_viscous": dynamics.parameters.viscous,
            "scale": [0.1 if joint.position_unit == "m" else 1.0 for joint in robot.joints],
        }
        for name, value in values.items():
            getattr(self.uncertainty.fields, name)[...] = value
        self._bodies, model = sensitivity_parameters(dynamics), self._model.fields
        self._functions = [dynamics.plain_function("inverse"), dynamics.plain_function("mass_matrix")]
        self._functions.append(plain_function(sensitivity_program(dynamics)))
        for name, function in zip(("inverse", "mass_matrix", "sensitivity"), self._functions, strict=True):
            getattr(model, name)[...] = ctypes.cast(function, ctypes.c_void_p).value
        model.model[...], model.bodies[...] = dynamics.symbols.ctypes.data, self._bodies.ctypes.data
        self._dynamics = dynamics
        self._library.consistency_check.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_double] * 2 + [ctypes.c_void_p] * 3
        self.verdict = "trusted"
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._library.consistency_reset(pointer(self.uncertainty.array), pointer(self.memory.array))

    def update(self, t: float, age: float, q: Any, qd: Any, effort: Any = None) -> str:
        """Take in a state; gives the verdict.

        Args:
            t: its time [s].
            age: how old it is [s].
            q: positions (n,).
            qd: velocities (n,).
            effort: mean effort since the state before it (n,); None if nobody knows.
        """
        q, qd = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(qd, dtype=float)
        given = None if effort is None else np.ascontiguousarray(effort, dtype=float)
        structs = (pointer(each.array) for each in (self.uncertainty, self._model, self.memory))
        code = self._library.consistency_check(
            *structs, t, age, pointer(q), pointer(qd), None if given is None else pointer(given)
        )
        self.verdict = VERDICTS[code]
        return self.verdict

    @property
    def text(self) -> str:
        """What is wrong, in words."""
        memory = self.memory.fields
        return (
            f"{KINDS[int(memory.kind)]}: joint {int(memory.joint)}, {float(memory.value):.4g} beyond "
            f"{float(memory.bound):.4g} by {BOUNDS[int(memory.setting)]}"
        )
