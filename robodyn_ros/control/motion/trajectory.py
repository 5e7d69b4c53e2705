"""Trajectories through points, and their files.

The degree follows from the points, as in joint_trajectory_controller: positions alone are joined by straight lines,
positions and velocities by cubics, and with accelerations by quintics. Each segment between two points h apart is
written on the Bernstein basis, whose coefficients follow from the ends alone (Farin, Curves and Surfaces for CAGD
(2002), ch. 5; Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), ch. 2)::

    cubic    y0, y0 + h v0/3, y1 - h v1/3, y1
    quintic  y0, y0 + h v0/5, y0 + 2 h v0/5 + h² a0/20, (the same mirrored), y1

The polynomial stays between the least and the greatest coefficient, which makes limits cheap to check.

A trajectory file is the message trajectory_msgs/msg/JointTrajectory as JSON, which is YAML as well. So ``ros2 topic
pub`` takes it for the topics of joint_trajectory_controller and of this package's controller.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

NANO = 1_000_000_000

FIELDS = {"positions": "positions", "velocities": "velocities", "accelerations": "accelerations"}
"""Field of a point → attribute of a trajectory."""


class Sample(NamedTuple):
    """A trajectory at one time; each (n,)."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    qdd: Array  # [rad/s²] or [m/s²]


class Trajectory:
    """A motion through K points of n joints; before the first and after the last the arm rests there.

    Attributes:
        times: (K,) in [s], rising; 0 is when the trajectory starts, and the first point may lie later.
        positions: (K, n) in [rad] or [m].
        velocities: (K, n) in [rad/s] or [m/s], or None.
        accelerations: (K, n) in [rad/s²] or [m/s²], or None.
        planned: the efforts that the motion needs, or None if unknown.
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
    ) -> None:
        """
        Args:
            times: (K,) in [s], rising.
            positions: (K, n) in [rad] or [m].
            velocities: (K, n); may be left out.
            accelerations: (K, n); may be left out, and must be without velocities.
            efforts: that the motion needs at the points, (K, n) in [N·m] or [N]; may be left out.

        Raises:
            InputError: wrong shapes, something not finite, times that do not rise, accelerations without velocities.
        """
        shape = _shape(positions)
        self.times = read_only(finite_array("times", times, shape[:1]))
        self.positions = read_only(finite_array("positions", positions, shape))
        self.velocities = None if velocities is None else read_only(finite_array("velocities", velocities, shape))
        self.accelerations = (
            None if accelerations is None else read_only(finite_array("accelerations", accelerations, shape))
        )
        self.planned = None if efforts is None else PlannedEffort(self.times, efforts, shape[1])
        if (np.diff(self.times) <= 0.0).any():
            raise InputError("times", f"must rise strictly: {self.times}", times)
        if self.velocities is None and self.accelerations is not None:
            raise InputError("accelerations", "need velocities as well", accelerations)
        self._bernstein = _bernstein_coefficients(self.times, self.positions, self.velocities, self.accelerations)
        self._knots: list[float] = self.times.tolist()
        self._powers = np.arange(len(self._bernstein) - 1.0, -1.0, -1.0)
        self._table = _power_coefficients(self._bernstein, self.times)
        zero = read_only(np.zeros(shape[1]))
        self._first, self._last = Sample(self.positions[0], zero, zero), Sample(self.positions[-1], zero, zero)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.positions.shape[1])

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return self._knots[-1]

    @property
    def coefficients(self) -> Array:
        """Coefficients of position, velocity and acceleration side by side, (K - 1, degree + 1, 3 n).

        They multiply the powers of the time since the first point of the segment, the highest power first.
        """
        return self._table

    # `sample` in simulation/trial/trial.c is the same in C; test_simulation_sweep_trial.py compares them.
    def sample(self, t: float) -> Sample:
        """Position, velocity and acceleration at time t [s]; at rest outside the points' times."""
        if t >= self._knots[-1]:
            return self._last
        if t < self._knots[0]:
            return self._first
        segment = bisect_right(self._knots, t) - 1
        n = self.n
        # One product for all three: the table has the coefficients of position, velocity and acceleration side by side.
        values = (t - self._knots[segment]) ** self._powers @ self._table[segment]
        return Sample(values[:n], values[n : 2 * n], values[2 * n :])

    def extent(self) -> tuple[Array, Array]:
        """Least and greatest position of each joint, overshoot between the points included; (n,) and (n,)."""
        least, greatest = self.positions.min(axis=0), self.positions.max(axis=0)
        below = self._bernstein.min(axis=(0, 1), initial=np.inf) < least
        above = self._bernstein.max(axis=(0, 1), initial=-np.inf) > greatest
        for joint in np.flatnonzero(below | above):
            for segment, h in enumerate(np.diff(self.times)):
                turns = np.roots(self._table[segment, 1:, self.n + joint])
                turns = turns.real[(abs(turns.imag) < 1e-9 * h) & (turns.real > 0.0) & (turns.real < h)]
                values = np.polyval(self._table[segment, :, joint], turns)
                least[joint] = min(least[joint], values.min(initial=np.inf))
                greatest[joint] = max(greatest[joint], values.max(initial=-np.inf))
        return least, greatest

    def speed(self, limit: Array) -> Array:
        """Greatest speed of each joint, (n,) in [rad/s] or [m/s]; exact where it is above a limit (n,), else a bound.

        The derivative's Bernstein coefficients are the degree times the differences of the curve's over h (Farin,
        section 5.3), and bound it.
        """
        degree = len(self._bernstein) - 1
        h = np.diff(self.times)[:, np.newaxis]
        greatest: Array = np.abs(degree * np.diff(self._bernstein, axis=0) / h).max(axis=(0, 1), initial=0.0)
        for joint in np.flatnonzero(greatest > limit):
            greatest[joint] = 0.0
            for segment, width in enumerate(h[:, 0]):
                turns = np.roots(self._table[segment, 2:, 2 * self.n + joint])
                turns = turns.real[(abs(turns.imag) < 1e-9 * width) & (turns.real > 0.0) & (turns.real < width)]
                speeds = np.polyval(self._table[segment, 1:, self.n + joint], np.append(turns, (0.0, width)))
                greatest[joint] = max(greatest[joint], np.abs(speeds).max())
        return greatest

    def shifted(self, by: Array) -> Trajectory:
        """The same motion from elsewhere: every position moved by as much (n,)."""
        moved = Trajectory(self.times, self.positions + by, self.velocities, self.accelerations)
        moved.planned = self.planned
        return moved

    def completed(self, columns: list[int], others: Array) -> Trajectory:
        """The trajectory of these m joints as one of n joints; the others stay where they are.

        Args:
            columns: index among the n joints of each of the m.
            others: positions (n,) in [rad] or [m], used for the joints without a column.
        """
        if columns == list(range(len(others))):
            return self

        def spread(values: Array | None, background: Array) -> Array | None:
            if values is None:
                return None
            whole = np.tile(background, (len(values), 1))
            whole[:, columns] = values
            return whole

        still = np.zeros_like(others)
        positions = np.tile(others, (len(self.times), 1))
        positions[:, columns] = self.positions
        whole = Trajectory(self.times, positions, spread(self.velocities, still), spread(self.accelerations, still))
        whole.planned = None if self.planned is None else self.planned.spread(columns, len(others))
        return whole

    def continued_from(self, t: float, start: Sample) -> Trajectory:
        """The rest of this trajectory after time t, beginning with a given motion.

        The points later than t stay; the start takes the place of the earlier ones, with its velocity and acceleration
        as far as the degree takes them in. So position never jumps, whatever the first point says.

        Args:
            t: time of the start [s].
            start: the motion at that time.

        Raises:
            InputError: no point is later than t.
        """
        later = bisect_right(self._knots, t)
        if later == len(self._knots):
            raise InputError("trajectory", f"its last point, at {self.duration:g} s, leaves no time to get there", self)

        def joined(first: Array, rest: Array | None) -> Array | None:
            return None if rest is None else np.vstack((first, rest[later:]))

        rest = Trajectory(
            np.concatenate(([t], self.times[later:])),
            np.vstack((start.q, self.positions[later:])),
            joined(start.qd, self.velocities),
            joined(start.qdd, self.accelerations),
        )
        rest.planned = self.planned
        return rest


class PlannedEffort:
    """The efforts that a motion needs according to a plan, at K times and linear between them.

    They are the whole efforts, gravity included, not the part that a law has to add.

    Attributes:
        times: (K,) in [s], rising.
        efforts: (K, n) in [N·m] or [N]; NaN for joints that the plan does not cover.
    """

    def __init__(self, times: Array, efforts: ArrayLike, n: int) -> None:
        """
        Args:
            times: (K,) in [s], rising.
            efforts: (K, n), finite.
            n: number of joints.

        Raises:
            InputError: wrong shapes, or something not finite.
        """
        self.times = times
        self.efforts = read_only(finite_array("efforts", efforts, (len(times), n)))
        self._knots: list[float] = times.tolist()

    def spread(self, columns: list[int], n: int) -> PlannedEffort:
        """The same as efforts of n joints, where these are the given columns."""
        whole = np.full((len(self.times), n), np.nan)
        whole[:, columns] = self.efforts
        wider = PlannedEffort(self.times, np.zeros_like(whole), n)
        wider.efforts = read_only(whole)
        return wider

    def at(self, t: float) -> Array | None:
        """Efforts (n,) at time t [s]; None outside of the points, because at the last one the arm may still brake."""
        after = bisect_right(self._knots, t)
        if after in (0, len(self._knots)):
            return None
        begin, end = self._knots[after - 1], self._knots[after]
        ratio = (t - begin) / (end - begin)
        between: Array = self.efforts[after - 1] + ratio * (self.efforts[after] - self.efforts[after - 1])
        return between


def _shape(positions: ArrayLike) -> tuple[int, int]:
    shape = np.shape(positions)
    if len(shape) != 2 or 0 in shape:
        raise InputError("positions", f"must be K points by n joints, neither 0, not of shape {shape}", positions)
    return shape


def _bernstein_coefficients(t: Array, y: Array, v: Array | None, a: Array | None) -> Array:
    """Bernstein coefficients of every segment, (degree + 1, K - 1, n)."""
    y0, y1 = y[:-1], y[1:]
    if v is None:
        return np.stack((y0, y1))
    h = np.diff(t)[:, np.newaxis]
    d0, d1 = h * v[:-1], h * v[1:]
    if a is None:
        return np.stack((y0, y0 + d0 / 3.0, y1 - d1 / 3.0, y1))
    b0, b1 = h**2 * a[:-1] / 20.0, h**2 * a[1:] / 20.0
    return np.stack((y0, y0 + d0 / 5.0, y0 + 0.4 * d0 + b0, y1 - 0.4 * d1 + b1, y1 - d1 / 5.0, y1))


def _power_coefficients(bernstein: Array, times: Array) -> Array:
    """Power coefficients of position, velocity and acceleration (:attr:`Trajectory.coefficients`)."""
    degree = bernstein.shape[0] - 1
    # Farin, section 5.8: the k-th power's coefficient is the binomial of (degree, k) times the k-th forward difference.
    rows = [[comb(degree, k) * comb(k, i) * (-1) ** (k - i) for i in range(degree + 1)] for k in range(degree, -1, -1)]
    scale = np.diff(times)[:, np.newaxis] ** np.arange(degree, -1, -1)  # (K - 1, degree + 1)
    position = np.tensordot(np.array(rows, dtype=float), bernstein, 1) / scale.T[:, :, np.newaxis]
    velocity, acceleration = np.zeros_like(position), np.zeros_like(position)
    falling = np.arange(degree, 0, -1.0)[:, np.newaxis, np.newaxis]
    velocity[1:] = falling * position[:-1]
    acceleration[1:] = falling * velocity[:-1]
    return np.ascontiguousarray(np.concatenate((position, velocity, acceleration), axis=2).transpose(1, 0, 2))


def write_trajectory(path: str | os.PathLike[str], trajectory: Trajectory, joints: Sequence[str]) -> None:
    """Write a trajectory of joints with these names; times are rounded to nanoseconds."""
    given = {field: getattr(trajectory, name) for field, name in FIELDS.items()}
    points = []
    for k, time in enumerate(trajectory.times.tolist()):
        nanoseconds = round(time * NANO)
        point: dict[str, Any] = {field: rows[k].tolist() for field, rows in given.items() if rows is not None}
        point["time_from_start"] = {"sec": nanoseconds // NANO, "nanosec": nanoseconds % NANO}
        points.append(point)
    lines = ",\n".join(f"    {json.dumps(point)}" for point in points)
    text = f'{{\n  "joint_names": {json.dumps(list(joints))},\n  "points": [\n{lines}\n  ]\n}}\n'
    Path(path).write_text(text, encoding="utf-8")


def read_trajectory(path: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """A trajectory of all joints of an arm, in its order.

    Raises:
        InputError: the file cannot be read, is something else, or is of other joints.
    """
    import yaml

    where = os.fspath(path)
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InputError("trajectory", f"{where} cannot be read: {cause}", path) from cause
    try:
        names, points = content["joint_names"], content["points"]
        times = [point["time_from_start"]["sec"] + point["time_from_start"]["nanosec"] / NANO for point in points]
        rows = {name: _rows(field, points, len(names)) for field, name in FIELDS.items()}
    except (KeyError, TypeError, ValueError) as cause:
        raise InputError("trajectory", f"{where} is no JointTrajectory: {cause!r}", path) from cause
    if sorted(names) != sorted(robot.joint_names):
        raise InputError(
            "trajectory", f"{where} is of the joints {names}, the arm has {list(robot.joint_names)}", names
        )
    order = [names.index(name) for name in robot.joint_names]
    columns = {name: None if values is None else values[:, order] for name, values in rows.items()}
    if columns["positions"] is None:
        raise InputError("trajectory", f"{where} has no positions", path)
    return Trajectory(times, **columns)  # type: ignore[arg-type]


def _rows(field: str, points: Sequence[dict[str, Any]], count: int) -> Array | None:
    """Values of all points (K, count); None where no point has any."""
    rows = [point.get(field) or [] for point in points]
    if not any(rows):
        return None
    if any(len(row) != count for row in rows):
        raise ValueError(f"{field} of every point must have {count} values, one for each joint")
    return np.array(rows, dtype=np.float64)
