"""What the law ``mpc`` minimises: deviations from the reference, weighed so that the gains keep their meaning.

    l = ½ Σ (q̈ - q̈_d)² + kp² e² + (kd² - 2 kp) ė²,      l_f = ½ Σ kp kd e² + 2 kp e ė + kd ė²,      e = q_d - q

Under computed torque every joint is a double integrator whose input is its acceleration. Of all feedback on such a
joint, q̈ = q̈_d + kp e + kd ė minimises just this l over all time, and l_f is what is left of it from then on (Anderson
and Moore, Optimal Control: Linear Quadratic Methods (1990), section 5.4, the inverse problem). So where no effort comes
to its limit, minimising it is computed torque with the same gains, as far as the length of a step lets it be; and near
a limit it is the best there is instead.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.planning.cost import Cost, Point
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    import casadi as ca


class Deviation(Cost):
    """See the module. Its reference is (q_d, q̇_d, q̈_d, kp, kd) at each time, so that gains change without compiling."""

    @property
    def identity(self) -> str:
        """Equal texts mean equal costs."""
        return _source()

    def running(self, at: Point) -> ca.SX:
        """See the module."""
        import casadi as ca

        q, qd, qdd, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        return (ca.sumsqr(at.qdd - qdd) + ca.sumsqr(kp * (at.q - q)) + ca.dot(kd**2 - 2 * kp, (at.qd - qd) ** 2)) / 2

    def final(self, at: Point) -> ca.SX:
        """See the module."""
        import casadi as ca

        q, qd, _, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        e, ed = at.q - q, at.qd - qd
        return (ca.dot(kp * kd, e**2) + 2 * ca.dot(kp, e * ed) + ca.dot(kd, ed**2)) / 2

    def reference(self, times: ArrayLike, n: int) -> Array:
        """Zeros: the law writes it."""
        return np.zeros((len(np.atleast_1d(times)), 5 * n))


def references(q: Array, qd: Array, h: float, kp: Array, kd: Array) -> Array:
    """The rows of ``Deviation.reference``, (K, 5n), at times h apart.

    The acceleration of a step is the mean one over the step, for the effort is held. A kd below √(2 kp), which l has no
    weight for, is taken as that: a damping ratio of 0.71.

    Args:
        q: positions at K + 1 times, (K + 1, n) in [rad] or [m].
        qd: velocities likewise.
        h: between them [s].
        kp: gain on the position error (n,) in [1/s²].
        kd: gain on the velocity error (n,) in [1/s].
    """
    acceleration = np.diff(qd, axis=0) / h
    gains = np.concatenate((kp, np.maximum(kd, np.sqrt(2.0 * kp))))
    return np.hstack((q[:-1], qd[:-1], acceleration, np.tile(gains, (len(acceleration), 1))))


@lru_cache(maxsize=1)
def _source() -> str:
    return Path(__file__).read_text(encoding="utf-8")
