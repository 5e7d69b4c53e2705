"""What carries the arm, from a model that may fail."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.checks import is_finite
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array


class Weight:
    """The efforts that carry the arm, from a model that may fail.

    Attributes:
        last: as the model gave it last, (n,) in [N·m] or [N]; None before it gave any.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: the model; may be replaced.
        """
        self.dynamics = dynamics
        self.last: Array | None = None

    def at(self, q: Array) -> Array:
        """At a position (n,).

        Raises:
            Exception: whatever the model raises; ``last`` stays.
        """
        gravity = self.dynamics.gravity(q)
        if getattr(gravity, "shape", None) != q.shape or not is_finite(gravity):
            raise ValueError(f"gravity of the dynamics plugin is no {len(q)} finite numbers: {gravity!r}")
        self.last = gravity
        return gravity

    def known(self, q: Array) -> Array:
        """At a position (n,) if the model gives it, else as it was last; zero if there never was one."""
        try:
            return self.at(q)
        except Exception:  # of a plugin: this is what the fault is about
            return np.zeros_like(q) if self.last is None else self.last
