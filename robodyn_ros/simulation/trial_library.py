"""The libraries of a compiled trial: the loop of an arm and an integrator, and what a law asks of its model."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import Any

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.engine.program import Program
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.motion_loop import motion_source
from robodyn_ros.simulation.trial_memory import CODES, declaration

CODE = Path(__file__).with_name("trial.c").read_text(encoding="utf-8")

_functions: dict[tuple[str, str], Any] = {}


def trial_function(dynamics: CompiledDynamics, integrator: Integrator) -> Any:
    """The loop for an arm, or None where there is no compiler; looked up once in a process."""
    if not (dynamics.compiled and integrator.code):
        return None
    program = dynamics.program("forward")
    code = CODE.replace("@fields", declaration()).replace("@codes", ", ".join(CODES))
    return _function("trial", program, motion_source(dynamics, integrator) + code)


def plain_function(dynamics: CompiledDynamics, quantity: str) -> Any:
    """A quantity as a C function of its inputs, the parameters and the place for the result; or None likewise."""
    if not dynamics.compiled:
        return None
    program = dynamics.program(quantity)
    inputs = [f"x{i}" for i in range(len(program.inputs))]
    code = f"""
void {quantity}_plain({", ".join(f"const double* {name}" for name in inputs)}, const double* p, double* y) {{
  double k[CONSTANTS], check;
  prepare(p, k);
  compute({", ".join(inputs)}, p, k, y, &check);
}}
"""
    return _function(f"{quantity}_plain", program, code)


def _function(name: str, program: Program, code: str) -> Any:
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    if (name, key) not in _functions:
        path = find_library(name, key, lambda: scalar_source(program) + code)
        if path is None:  # not remembered: there may be one later
            return None
        _functions[name, key] = ctypes.CDLL(str(path))[name]
    return _functions[name, key]
