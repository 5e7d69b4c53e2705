"""A trajectory as an arm goes on with it: from the motion that it has, to the next point, and through the rest.

Only the way to the next point is computed. The rest is the trajectory that was given, and its points are not copied. So
going over to a trajectory of 100,000 points takes no longer than to one of two.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array


class Continuation:
    """A trajectory of some of the joints, from a given motion of all of them on.

    The start takes the place of the points that are over, with its velocity and acceleration as far as the degree takes
    them in. So position never jumps, whatever the first point says. Circular joints turn to the points along the turns
    that are near the start.

    Attributes:
        trajectory: the one that was given, of m joints.
        columns: index among the n joints of each of the m.
        still: where the others stay, (n,).
        turn: what is added to the positions of the trajectory, (m,).
        then: time of the next point [s].
        way: to the next point, of all n joints.
        goal: where it ends, (n,) in [rad] or [m].
        duration: time of the last point [s].
    """

    def __init__(
        self, trajectory: Trajectory, columns: list[int], t: float, before: Sample, space: ConfigurationSpace
    ) -> None:
        """
        Args:
            trajectory: of m joints.
            columns: index among the n joints of each of the m; the others stay where they are.
            t: time of the start, by the trajectory's time [s].
            before: the motion at that time, (n,) each.
            space: of the arm.

        Raises:
            InputError: no point is later than t.
        """
        self.trajectory, self.columns, self.still = trajectory, columns, before.q
        first = before.q.copy()
        first[columns] = trajectory.positions[0]
        self.turn = (space.near(before.q, first) - first)[columns]
        later = trajectory.later(t)
        self.then = float(trajectory.times[later])
        self.way = Trajectory(
            [t, self.then],
            [before.q, self._position(trajectory.positions[later])],
            self._ends(before.qd, trajectory.velocities, later),
            self._ends(before.qdd, trajectory.accelerations, later),
        )
        self.goal = self._position(trajectory.positions[-1])
        self.duration = trajectory.duration

    def sample(self, t: float) -> Sample:
        """Position, velocity and acceleration (n,) at time t [s]."""
        if t < self.then:
            return self.way.sample(t)
        q, qd, qdd = self.trajectory.sample(t)
        return Sample(self._position(q), self._spread(qd, 0.0), self._spread(qdd, 0.0))

    def planned(self, t: float) -> Array | None:
        """The planned efforts (n,) at time t [s], NaN for the joints that have no plan; None if there is none."""
        planned = self.trajectory.planned
        efforts = None if planned is None else planned.at(t)
        return None if efforts is None else self._spread(efforts, np.nan)

    def _position(self, values: Array) -> Array:
        """Positions of all joints (n,), of the trajectory's own (m,)."""
        whole: Array = self.still.copy()
        whole[self.columns] = values + self.turn
        return whole

    def _spread(self, values: Array, other: float) -> Array:
        """Values of all joints (n,), of the trajectory's own (m,) and one for the others."""
        whole = np.full(len(self.still), other)
        whole[self.columns] = values
        return whole

    def _ends(self, start: Array, rows: Array | None, later: int) -> list[Array] | None:
        return None if rows is None else [start, self._spread(rows[later], 0.0)]
