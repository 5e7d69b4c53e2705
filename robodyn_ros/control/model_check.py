"""Whether a model may lead an arm: what must hold between its answers, whoever wrote it.

At a few states all over the joints' range: every answer has its shape and is finite; M is symmetric and positive
definite; inverse dynamics at rest is gravity, and an acceleration adds M q̈. This finds garbage, not a wrong mass; the
conformance kit of :mod:`robodyn_ros.dynamics` finds more, and takes more time.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ModelError
from robodyn_ros.robot.pose import Array

STATES = 5
"""How many states are tried."""

TOLERANCE = 1e-6
"""How far two ways to the same number may lead apart, relative to the greatest number."""


def check_model(dynamics: Dynamics) -> None:
    """Try a model.

    Raises:
        ModelError: an answer is garbage; the message says which.
        Exception: whatever the plugin raises.
    """
    robot, n = dynamics.robot, dynamics.robot.n
    rng = np.random.default_rng(1)
    lower, upper = np.clip(robot.lower, -np.pi, np.pi), np.clip(robot.upper, -np.pi, np.pi)
    rest = np.zeros(n)
    for _ in range(STATES):
        q, qdd = rng.uniform(lower, upper), rng.uniform(-1.0, 1.0, n)
        mass_matrix = _numbers("mass_matrix", dynamics.mass_matrix(q), (n, n))
        gravity = _numbers("gravity", dynamics.gravity(q), (n,))
        still = _numbers("inverse", dynamics.inverse(q, rest, rest), (n,))
        moved = _numbers("inverse", dynamics.inverse(q, rest, qdd), (n,))
        _numbers("inverse", dynamics.inverse(q, qdd, rest), (n,))
        scale = max(np.abs(mass_matrix).max(), np.abs(gravity).max())
        _agree("mass_matrix is not symmetric", mass_matrix, mass_matrix.T, scale)
        if np.linalg.eigvalsh(mass_matrix)[0] <= 0.0:
            raise ModelError(f"dynamics plugin: mass_matrix is not positive definite at q = {q}: {mass_matrix}")
        _agree("inverse at rest is not gravity", still, gravity, scale)
        parts = [_numbers("terms", part, (n,)) for part in dynamics.terms(q, rest, qdd, qdd)]
        _agree("the terms do not add up to inverse dynamics", sum(parts[:3], rest), moved, scale)
        _agree("inverse does not add M q̈ to gravity", moved - still, mass_matrix @ qdd, scale)


def _numbers(method: str, answer: object, shape: tuple[int, ...]) -> Array:
    array = np.asarray(answer)
    if array.shape != shape or array.dtype.kind not in "fi" or not np.isfinite(array).all():
        raise ModelError(f"dynamics plugin: {method} gives no finite numbers of shape {shape}, but {answer!r}")
    return array


def _agree(problem: str, one: Array, other: Array, scale: float) -> None:
    if not np.allclose(one, other, rtol=0.0, atol=TOLERANCE * scale):
        raise ModelError(f"dynamics plugin: {problem}: {one} and {other}")
