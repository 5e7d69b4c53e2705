# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A dry run: a model and a law are made in a process of their own, before they are made for an arm that moves.

Their compiled code is in the cache afterwards, so that making them again takes milliseconds. A plugin that raises,
contradicts itself, crashes or never ends does so in that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from robodyn_ros.dynamics.base import Dynamics, finite_result
from robodyn_ros.errors import ModelError, NotReadyError, RobodynError
from robodyn_ros.plugins import raised
from robodyn_ros.robot import Array, random_positions, reload_robot

TIMEOUT = 120.0  #: Longest duration of a dry run [s]: compiling a long arm for the first time takes some seconds.
STATES = 5  #: Number of states that are tried.
TOLERANCE = 1e-6  #: Tolerance of two results that should be equal, relative to the greatest number.


def dry_run(dynamics: str, controller: str, urdf: str) -> None:
    """Make a model and a law in a process of their own, and call them once; NotReadyError says why it failed."""
    command = [sys.executable, "-m", "robodyn_ros.control.faults.dry_run"]
    given = json.dumps({"dynamics": dynamics, "controller": controller, "urdf": urdf})
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as cause:
        raise NotReadyError(f"{controller} on {dynamics} was not made within {TIMEOUT:g} s") from cause
    if done.returncode != 0:
        why = done.stdout.strip() or f"the process ended with code {done.returncode}"
        raise NotReadyError(f"{controller} on {dynamics} cannot be made: {why}")


def make(dynamics: str, controller: str, urdf: str) -> None:
    """Make a model and a law here, and call them once."""
    import robodyn_ros as rd

    model: Any = rd.create_dynamics(dynamics, reload_robot(urdf))
    check_model(model)
    rd.create_controller(controller, model, 1.0, 1.0)


def check_model(dynamics: Dynamics) -> None:
    """Check that the results of a model, of whatever plugin, agree with each other (ModelError).

    At a few states all over the joints' range: every result has its shape and is finite; M is symmetric and positive
    definite; inverse dynamics at rest is gravity, and an acceleration adds M q̈. This finds garbage, not a wrong mass.
    """
    robot, n = dynamics.robot, dynamics.robot.n
    rng, rest = np.random.default_rng(1), np.zeros(n)
    for q in random_positions(robot, STATES):
        qdd = rng.uniform(-1.0, 1.0, n)
        mass_matrix = finite_result("mass_matrix", dynamics.mass_matrix(q), (n, n))
        gravity = finite_result("gravity", dynamics.gravity(q), (n,))
        still = finite_result("inverse", dynamics.inverse(q, rest, rest), (n,))
        moved = finite_result("inverse", dynamics.inverse(q, rest, qdd), (n,))
        finite_result("inverse", dynamics.inverse(q, qdd, rest), (n,))
        scale = max(np.abs(mass_matrix).max(), np.abs(gravity).max())
        _agree("mass_matrix is not symmetric", mass_matrix, mass_matrix.T, scale)
        if np.linalg.eigvalsh(mass_matrix)[0] <= 0.0:
            raise ModelError(f"dynamics plugin: mass_matrix is not positive definite at q = {q}: {mass_matrix}")
        _agree("inverse at rest is not gravity", still, gravity, scale)
        parts = [finite_result("terms", part, (n,)) for part in dynamics.terms(q, rest, qdd, qdd)]
        _agree("the terms do not add up to inverse dynamics", sum(parts[:3], rest), moved, scale)
        _agree("inverse does not add M q̈ to gravity", moved - still, mass_matrix @ qdd, scale)


def _agree(problem: str, one: Array, other: Array, scale: float) -> None:
    if not np.allclose(one, other, rtol=0.0, atol=TOLERANCE * scale):
        raise ModelError(f"dynamics plugin: {problem}: {one} and {other}")


def main() -> int:
    """Make what stdin asks for, as JSON; on failure the reason is on stdout."""
    try:
        make(**json.load(sys.stdin))
    except Exception as problem:  # of a plugin, whatever it is
        print(problem if isinstance(problem, RobodynError) else raised(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
