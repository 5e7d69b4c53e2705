"""Where the reference comes from: held, followed along a trajectory, or streamed.

Time is that of the states [s]. A source says until when it counts; what comes after it is a hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.robot.pose import Array, read_only

Mode = Literal["waiting", "hold", "follow", "track"]


class ReferenceSource(ABC):
    """A reference over time.

    Attributes:
        mode: what it is called outside.
        end: from this time on it no longer counts [s].
    """

    mode: ClassVar[Mode]
    end: float = np.inf

    @abstractmethod
    def sample(self, t: float) -> Reference:
        """The reference at time t [s]."""

    def planned(self, t: float) -> Array | None:
        """The efforts (n,) that its motion needs at time t [s] as far as a plan says them; NaN where it does not."""
        return None

    @abstractmethod
    def successor(self, q: Array) -> HoldReference:
        """What takes over at the end, with the arm at q (n,)."""


class HoldReference(ReferenceSource):
    """Stay at one position."""

    mode = "hold"

    def __init__(self, q: Array, end: float = np.inf) -> None:
        """
        Args:
            q: the position, (n,) in [rad] or [m].
            end: from this time on, hold where the arm is then [s].
        """
        self.end = end
        still = read_only(np.zeros(len(q)))
        self._reference = Reference(read_only(q), still, still, still)

    def sample(self, t: float) -> Reference:
        """The same at every time."""
        return self._reference

    def successor(self, q: Array) -> HoldReference:
        """Hold where the arm is."""
        return HoldReference(q)


class TrajectoryReference(ReferenceSource):
    """Follow a trajectory of all joints; after its last point, hold that.

    Attributes:
        start: when the trajectory's time is 0 [s].
    """

    mode = "follow"

    def __init__(self, trajectory: Trajectory, start: float, patience: float = np.inf) -> None:
        """
        Args:
            trajectory: of all joints of the arm.
            start: when its time is 0 [s].
            patience: how long its last point is held; then the arm is held where it is [s].
        """
        self.start = start
        self.end = start + trajectory.duration
        self._trajectory = trajectory
        self._patience = patience
        self._no_effort = read_only(np.zeros(trajectory.n))

    def sample(self, t: float) -> Reference:
        """See :meth:`Trajectory.sample`."""
        return Reference(*self._trajectory.sample(t - self.start), self._no_effort)

    def planned(self, t: float) -> Array | None:
        """See :class:`PlannedEffort`."""
        planned = self._trajectory.planned
        return None if planned is None else planned.at(t - self.start)

    def successor(self, q: Array) -> HoldReference:
        """Hold the last point, for a while."""
        return HoldReference(self._trajectory.positions[-1], self.end + self._patience)

    def wait(self, dt: float) -> None:
        """Let its time stand still for a while [s]."""
        self.start += dt
        self.end += dt


class StreamedReference(ReferenceSource):
    """Keep to the last reference of a stream; if the next does not come in time, hold where the arm is then."""

    mode = "track"

    def __init__(self, reference: Reference, end: float) -> None:
        """
        Args:
            reference: of all joints of the arm.
            end: when the next must have come [s].
        """
        self._reference = Reference(*map(read_only, reference))
        self.end = end

    def sample(self, t: float) -> Reference:
        """The same until the next."""
        return self._reference

    def successor(self, q: Array) -> HoldReference:
        """Hold where the arm is."""
        return HoldReference(q)


def completed(trajectory: Trajectory, columns: list[int], others: Array) -> Trajectory:
    """A trajectory of some joints made one of all: the others stay where they are.

    Args:
        trajectory: of m joints.
        columns: index into ``robot.joints`` of each of the m.
        others: positions (n,) in [rad] or [m], used for the joints without a column.
    """
    if columns == list(range(len(others))):
        return trajectory

    def spread(values: Array | None, background: Array) -> Array | None:
        if values is None:
            return None
        whole = np.tile(background, (len(values), 1))
        whole[:, columns] = values
        return whole

    still = np.zeros_like(others)
    positions = np.tile(others, (len(trajectory.times), 1))
    positions[:, columns] = trajectory.positions
    velocities, accelerations = spread(trajectory.velocities, still), spread(trajectory.accelerations, still)
    whole = Trajectory(trajectory.times, positions, velocities, accelerations)
    whole.planned = None if trajectory.planned is None else trajectory.planned.spread(columns, len(others))
    return whole
