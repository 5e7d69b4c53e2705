# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories through points, their files, and the record of an arm that followed one.

The degree follows from the points, as in joint_trajectory_controller: positions alone are joined by straight lines,
positions and velocities by cubics, and points with accelerations by quintics. Each segment between two points h apart
is written in the Bernstein basis (Farin, Curves and Surfaces for CAGD (2002), ch. 5)::

    cubic    y0, y0 + h v0/3, y1 - h v1/3, y1
    quintic  y0, y0 + h v0/5, y0 + 2 h v0/5 + h² a0/20, (the same mirrored), y1

The polynomial stays between its least and its greatest coefficient: only segments whose coefficients exceed a limit are
halved repeatedly, until their extreme value is known (de Casteljau's algorithm; Farin, section 5.4; Lane and
Riesenfeld, IEEE Trans. Pattern Analysis and Machine Intelligence 2 (1980)).

A trajectory file is the message trajectory_msgs/msg/JointTrajectory as JSON, which is also YAML. So ``ros2 topic pub``
accepts it for the topics of joint_trajectory_controller and of this package's controller.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array, is_any
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Array, Robot, read_only

if TYPE_CHECKING:
    from scipy.interpolate import BPoly

NANO = 1_000_000_000

GROWTH = 1e4  #: Bound of the ratio of power coefficients on [0, 1] to Bernstein ones.
GREATEST_EFFORT = 1e12  #: Greatest planned effort [N·m] or [N]: above that of any drive.
FIELDS = ("positions", "velocities", "accelerations")  #: Fields of a point, and attributes of a trajectory.


class Sample(NamedTuple):
    """A trajectory at one time; each (n,)."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    qdd: Array  # [rad/s²] or [m/s²]


class Trajectory:
    """A motion through K points of n joints; before the first and after the last point the arm rests there.

    Attributes:
        times: (K,) in [s], rising; 0 is when the trajectory starts, and the first point may lie later.
        positions: (K, n) in [rad] or [m].
        velocities: (K, n) in [rad/s] or [m/s], or None.
        accelerations: (K, n) in [rad/s²] or [m/s²], or None.
        efforts: planned total efforts at the points, with gravity, linear between them, (K, n) in [N·m] or [N]; None if
            unknown.
        bernstein: Bernstein coefficients of every segment, (degree + 1, K - 1, n).
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
    ) -> None:
        """The arguments are the attributes. InputError: wrong shapes, something not finite, times that do not rise,
        accelerations without velocities, or a curve without finite coefficients, by too great values or too close
        times.
        """
        shape = np.shape(positions)
        if len(shape) != 2 or 0 in shape:
            raise InputError("positions", f"must be K points by n joints, neither 0, not of shape {shape}", positions)

        def rows(name: str, values: ArrayLike | None) -> Array | None:
            return None if values is None else read_only(finite_array(name, values, shape))

        self.times = read_only(finite_array("times", times, shape[:1]))
        self.positions = read_only(finite_array("positions", positions, shape))
        self.velocities, self.accelerations = rows("velocities", velocities), rows("accelerations", accelerations)
        self.efforts = rows("efforts", efforts)
        if self.efforts is not None and is_any(np.abs(self.efforts) > GREATEST_EFFORT):
            raise InputError("efforts", f"must be at most {GREATEST_EFFORT:g} in magnitude", efforts)
        if (later := np.flatnonzero(~(self.times[1:] > self.times[:-1]))).size:
            k = int(later[0])
            text = f"must rise strictly, but {self.times[k + 1]} s follows {self.times[k]} s"
            raise InputError("times", text, times)
        if self.velocities is None and self.accelerations is not None:
            raise InputError("accelerations", "need velocities as well", accelerations)
        self.bernstein = _bernstein_coefficients(self.times, self.positions, self.velocities, self.accelerations)
        zero = read_only(np.zeros(shape[1]))
        self._first, self._last = Sample(self.positions[0], zero, zero), Sample(self.positions[-1], zero, zero)
        self._begin, self._end = float(self.times[0]), float(self.times[-1])

    def of_joints(self, columns: Sequence[int]) -> Trajectory:
        """Return the trajectory of some of its joints."""
        more = (self.velocities, self.accelerations, self.efforts)
        return Trajectory(
            self.times, self.positions[:, columns], *(None if values is None else values[:, columns] for values in more)
        )

    def of_more_joints(self, columns: Sequence[int], q: Array) -> Trajectory:
        """Return a trajectory of n joints, in which the additional joints stand still at q (n,) in [rad] or [m];
        ``columns`` has the index of each present joint among the n, and efforts are left out.
        """

        def among(values: Array, rest: Array) -> Array:
            found = np.tile(rest, (len(values), 1))
            found[:, columns] = values
            return found

        still = np.zeros(len(q))
        more = (None if values is None else among(values, still) for values in (self.velocities, self.accelerations))
        return Trajectory(self.times, among(self.positions, q), *more)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.positions.shape[1])

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return self._end

    def sample(self, t: float) -> Sample:
        """Position, velocity and acceleration at time t [s]; at rest before the first and after the last point."""
        if t >= self._end:
            return self._last
        return self._first if t < self._begin else Sample(*(curve(t) for curve in self._curves))

    def samples(self, times: Array) -> Sample:
        """Motion at times (K,) [s], (K, n) each, as :meth:`sample`, but that of the curve at the last point."""
        first, last = times < self._begin, times > self._end
        between = ~(first | last) if len(self.times) > 1 else np.zeros_like(first)
        q = np.where(first[:, None], self.positions[0], self.positions[-1])
        found = Sample(q, np.zeros_like(q), np.zeros_like(q))
        if between.any():
            for values, curve in zip(found, self._curves, strict=True):
                values[between] = curve(times[between])
        return found

    @cached_property
    def _curves(self) -> tuple[BPoly, BPoly, BPoly]:
        """Position, velocity and acceleration between the points."""
        from scipy.interpolate import BPoly

        position = BPoly(self.bernstein, self.times.copy())  # SciPy before 1.12 evaluates no read-only arrays
        return position, position.derivative(), position.derivative(2)

    def extent(self) -> tuple[Array, Array]:
        """Least and greatest position of each joint, overshoot between the points included; (n,) and (n,)."""
        least, greatest = self.positions.min(axis=0), self.positions.max(axis=0)
        below, above = -peaks(-self.bernstein, -least), peaks(self.bernstein, greatest)
        return np.minimum(least, below), np.maximum(greatest, above)

    def speed(self, limit: Array) -> Array:
        """Greatest speed of each joint, (n,) in [rad/s] or [m/s]; exact if above its limit (n,), else a bound."""
        velocity = self._curves[1].c if len(self.times) > 1 else np.empty((1, 0, self.n))
        return np.maximum(np.maximum(peaks(velocity, limit), peaks(-velocity, limit)), 0.0)


def _bernstein_coefficients(t: Array, y: Array, v: Array | None, a: Array | None) -> Array:
    """Bernstein coefficients of every segment, (degree + 1, K - 1, n); InputError: they are not finite."""
    y0, y1 = y[:-1], y[1:]
    with np.errstate(all="ignore"):  # overflows are found below
        h = np.diff(t)[:, np.newaxis]
        if v is None:
            found = np.stack((y0, y1))
        elif a is None:
            d0, d1 = h * v[:-1], h * v[1:]
            found = np.stack((y0, y0 + d0 / 3.0, y1 - d1 / 3.0, y1))
        else:
            d0, d1 = h * v[:-1], h * v[1:]
            b0, b1 = h**2 * a[:-1] / 20.0, h**2 * a[1:] / 20.0
            found = np.stack((y0, y0 + d0 / 5.0, y0 + 0.4 * d0 + b0, y1 - 0.4 * d1 + b1, y1 - d1 / 5.0, y1))
        scale = h ** (len(found) - 1.0)
        great = np.abs(found).max(axis=0) * GROWTH
        fine = np.isfinite(scale) & np.isfinite(great) & np.isfinite(great / scale)
    if not fine.all():
        k, joint = np.argwhere(~fine)[0].tolist()
        text = f"the curve of joint {joint + 1} from {t[k]:.9g} s to {t[k + 1]:.9g} s has no finite coefficients: "
        raise InputError("trajectory", text + "its values are too great, or the times too close or too far apart", y)
    return found


def peaks(bernstein: Array, limit: Array) -> Array:
    """Greatest values (n,) of m polynomials for each of n joints on their intervals, by their coefficients (degree + 1,
    m, n); exact if above a limit (n,), else an upper bound; -inf for m = 0.
    """
    from scipy.interpolate import BPoly, PPoly

    greatest: Array = bernstein.max(axis=(0, 1), initial=-np.inf)
    for joint in np.flatnonzero(greatest > limit):
        pieces = bernstein[:, :, joint]
        greatest[joint] = pieces[[0, -1]].max()
        pieces = pieces[:, pieces.max(axis=0) > greatest[joint]]  # the others have no greater value between their ends
        if pieces.shape[1]:
            curve = BPoly(pieces, np.arange(pieces.shape[1] + 1.0))
            turns = PPoly.from_bernstein_basis(curve.derivative()).roots(discontinuity=False, extrapolate=False)
            greatest[joint] = curve(turns[np.isfinite(turns)]).max(initial=greatest[joint])
    return greatest


def write_trajectory(path: str | os.PathLike[str], trajectory: Trajectory, joints: Sequence[str]) -> None:
    """Write a trajectory of joints with these names; times are rounded to nanoseconds."""
    given = {field: getattr(trajectory, field) for field in FIELDS}
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
    """A trajectory of all joints of an arm, in its order; InputError: the file has none, or one of other joints."""
    from robodyn_ros.files import read_yaml_of

    where = os.fspath(path)
    content = read_yaml_of("trajectory", path)
    try:
        names, points = list(content["joint_names"]), content["points"]
        times = [point["time_from_start"]["sec"] + point["time_from_start"]["nanosec"] / NANO for point in points]
        rows = {field: rows_of(field, [point.get(field) or [] for point in points], len(names)) for field in FIELDS}
    except (ValueError, InputError) as cause:
        raise InputError("trajectory", f"{where} is no JointTrajectory: {cause}", path) from cause
    except (KeyError, TypeError) as cause:
        needed = "joint_names, and points with positions and time_from_start, of sec and nanosec"
        raise InputError("trajectory", f"{where} is no JointTrajectory, which has {needed}", path) from cause
    order = joint_order(where, names, robot)
    columns = {name: None if values is None else values[:, order] for name, values in rows.items()}
    if columns["positions"] is None:
        raise InputError("trajectory", f"{where} has no positions", path)
    return Trajectory(times, **columns)  # type: ignore[arg-type]


def joint_order(file: str | os.PathLike[str], names: Sequence[str], robot: Robot) -> list[int]:
    """The place of each joint of an arm among those of a file; InputError: they are other joints."""
    if sorted(map(str, names)) != sorted(robot.joint_names):
        joints = list(robot.joint_names)
        raise InputError("trajectory", f"{file} is of the joints {list(names)}, the arm has {joints}", names)
    return [names.index(name) for name in robot.joint_names]


def rows_of(field: str, rows: Sequence[Sequence[float]], count: int) -> Array | None:
    """A field of all points (K, count); None if no point has any values. InputError: one has another number of them."""
    if not any(map(len, rows)):
        return None
    if any(len(row) != count for row in rows):
        raise InputError(field, f"of every point must have {count} values, one for each joint", rows)
    return np.array(rows, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class RunRecord:
    """N states and M commands of an arm of n joints, as received by an observer.

    There are two clocks: stamps are by the clock of the arm (simulated time with a simulator), times of receipt by a
    steady clock of the observer's machine. A command has the stamp of the state that it is for.
    """

    joints: tuple[str, ...]  # names, in the order of every array of n
    start: float  # stamp at which the trajectory's time was 0 [s]
    state_stamp: Array  # (N,) in [s]
    state_received: Array  # (N,) in [s]
    q: Array  # positions (N, n) in [rad] or [m]
    qd: Array  # velocities (N, n) in [rad/s] or [m/s]
    command_stamp: Array  # (M,) in [s]
    command_received: Array  # (M,) in [s]
    effort: Array  # commanded, (M, n) in [N·m] or [N]
    commands_sent: int  # number of commands that the controller reports, from before to after the trajectory
    commands_taken: int  # number of them that the arm reports as received
    command_gap: float  # longest time between two commands that the arm received, while it moved [s]
    faults: tuple[str, ...]  # reports of the nodes during the trajectory, each with its name; empty if there are none
    lockstep: bool  # True if the arm waited for the command to each state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to an ``.npz`` file."""
        np.savez(path, **asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunRecord:
        """Read a record that :meth:`save` wrote. InputError: the file cannot be read, or is no such record."""
        try:
            with np.load(path, allow_pickle=False) as file:
                values: dict[str, Any] = {name: row if row.ndim else row.item() for name, row in file.items()}
            names = {name: tuple(values[name].tolist()) for name in ("joints", "faults")}
            return cls(**values | names)
        except (OSError, EOFError, ValueError, KeyError, TypeError) as cause:
            raise InputError("path", f"{os.fspath(path)} is not the record of a run: {cause}", path) from cause
