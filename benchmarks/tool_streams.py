# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool: random targets, edges of the workspace, and circles from sparse streams, judged by Pinocchio.

    make bench-tool-streams                                     all of it, 100 targets an arm
    make bench-tool-streams BENCH="--part targets --targets 2000 --seed 1 --arm panda"
    make bench-tool-streams BENCH=--json

The arm is where its reference is, so that the figures are those of the reference; ``tool_streams.c`` runs it with the
core. The tool's speed and acceleration are differences of the poses that Pinocchio has for the joints' positions. All
settings are the node's defaults, but at edges, where the tool has 0.25 m/s and 2 m/s².

- *targets*: a pose for 2.5 s, then the first pose again: a random pose of the arm, one up to 0.7 m away, one behind the
  base, one at 1 km, and one turned by π. Greatest speeds and accelerations of the tool and speed of a joint, over their
  limits; *not back* are those after which the tool does not come within 1 mm of the first pose.
- *edges*: a line outwards at 0.1 m/s, the same as a twist, and a pose at the other side of the base axis.
- *circles*: 0.15 m/s, radius 98 mm; even, and with 20 % jitter of a period and 5 % loss. RMS after the delay told.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from common import PRR, options, report, urdfs
from numpy.typing import NDArray
from truth import Pinocchio, pinocchio

import robodyn_ros as rd
from robodyn_ros.control.core_library import CODES, Core, core_structs
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.motion.streams import StreamedTool, StreamSettings
from robodyn_ros.kinematics import so3

Array = NDArray[np.float64]

AROUND = Path(__file__).with_suffix(".c")
INSTALLED = urdfs()
POSES = {
    "prr": [0.6, 0.5, 0.9],
    "ur5_robot": [0.3, -1.1, 1.5, 0.4, 1.2, 0.2],
    "panda": [0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02],
    "xarm7": [0.1, -0.3, 0.2, 0.9, 0.1, 1.1, 0.2],
    "chain": [0.3, -0.4, 0.5, 0.6, -0.3, 0.4, 0.2],
}
ARMS = tuple(name for name in POSES if name in ("prr", "chain") or name in INSTALLED)
KINDS = ("within reach", "beyond reach", "behind the base", "1 km", "turned by π")
EDGE = {"speed": (0.25, 2.0), "acceleration": (2.0, 20.0)}
AWAY, BACK, EVERY = 2.5, 12.0, 0.02
"""How long a target is kept, and the first pose after it, and the time between two messages [s]."""
SPEED, RADIUS, RATES = 0.15, 0.0978, (10.0, 20.0, 30.0, 100.0)
FASTEST = 3.0
"""Velocity limit of a joint that has none [rad/s] or [m/s]."""


def chain() -> str:
    """The URDF of a chain of seven joints, drawn at random."""
    from arms import random_robot  # of the tests, whose folder is on the path by now

    return random_robot(5, 7, branching=0.0)


class Bench:
    """An arm that is where its reference is."""

    def __init__(self, name: str, dt: float, **settings: tuple[float, float]) -> None:
        text = PRR if name == "prr" else INSTALLED.get(name) or chain()
        self.robot, self.dt, self.q = rd.load_robot(text), dt, np.array(POSES[name])
        self.settings, self.tool = StreamSettings(**settings), StreamedTool.of(self.robot)
        n = self.robot.n
        self.limit = np.where(np.isfinite(self.robot.velocity_limit), self.robot.velocity_limit, FASTEST)
        self.core, self.record = Core(n, AROUND), core_structs(n).make("Settings")
        values = self.tool.values(self.settings) | {"velocity_limit": self.limit, "effort_limit": np.full(n, 100.0)}
        values["stream_timeout"] = SafetySettings().stream_timeout
        values |= {"lower": self.robot.lower, "upper": self.robot.upper}
        values |= {"acceleration": self.robot.acceleration_limit, "braking": self.robot.deceleration_limit}
        for key, value in values.items():
            getattr(self.record.fields, key)[...] = value
        self.truth = Pinocchio(self.robot, (0.0, 0.0, -9.81))
        self.frame = self.truth.model.getFrameId(self.tool.link)

    def pose(self, q: Array) -> Array:
        """Of the tool, (4, 4), by Pinocchio."""
        pinocchio.framesForwardKinematics(self.truth.model, self.truth.data, self.truth.configuration(q))
        found: Array = np.array(self.truth.data.oMf[self.frame].homogeneous)
        return found

    def run(
        self, messages: list[tuple[float, float, str, Array]], duration: float
    ) -> tuple[Array, NDArray[np.int64], float]:
        """Positions of the joints (T, n), what the tool did (T,), and the delay, for messages in order.

        Args:
            messages: when each comes [s], its stamp [s], what it is, and its numbers.
            duration: in all [s].
        """
        periods = round(duration / self.dt)
        times, stamps = (np.array([message[k] for message in messages]) for k in range(2))
        kinds = np.array([CODES[f"CORE_{message[2].upper()}"] for message in messages], dtype=np.int64)
        numbers = np.zeros((len(messages), 12))
        for row, (*_, value) in zip(numbers, messages, strict=True):
            flat = np.ravel(value) if value.ndim == 1 else np.concatenate((value[:3, 3], value[:3, :3].ravel()))
            row[: len(flat)] = flat
        q, states = np.zeros((periods, self.robot.n)), np.zeros(periods, np.int64)
        trial = self.core.library.tool_trial
        trial.restype = ctypes.c_double
        at = [ctypes.c_void_p(part.ctypes.data) for part in (self.q, times, stamps, kinds, numbers, q, states)]
        core, record = ctypes.c_void_p(self.core.address), ctypes.c_void_p(self.record.address)
        count, length = ctypes.c_int64(len(messages)), ctypes.c_int64(periods)
        delay = trial(core, record, at[0], count, *at[1:5], length, ctypes.c_double(self.dt), *at[5:])
        return q, states, float(delay)

    def motion(self, q: Array) -> tuple[Array, dict[str, float]]:
        """Poses of the tool (T, 4, 4), and the greatest of speeds and accelerations, in limits."""
        poses = np.array([self.pose(row) for row in q])
        turns = poses[1:, :3, :3] @ poses[:-1, :3, :3].transpose(0, 2, 1)
        angular = np.array(
            [turns[:, 2, 1] - turns[:, 1, 2], turns[:, 0, 2] - turns[:, 2, 0], turns[:, 1, 0] - turns[:, 0, 1]]
        )
        settings, found = self.settings, {}
        rates = (("", np.diff(poses[:, :3, 3], axis=0) / self.dt), ("turn_", angular.T / 2.0 / self.dt))
        for k, (name, rate) in enumerate(rates):
            found[f"{name}speed"] = float(np.linalg.norm(rate, axis=1).max() / settings.speed[k])
            change = np.linalg.norm(np.diff(rate, axis=0), axis=1) / self.dt
            found[f"{name}acceleration"] = float(change.max() / settings.acceleration[k])
        found["joints"] = float(np.max(np.abs(np.diff(q, axis=0)) / self.dt / self.limit))
        outside = (q < self.robot.lower - 1e-9) | (q > self.robot.upper + 1e-9)
        found["outside"] = float(outside.sum())
        return poses, found


def target(bench: Bench, start: Array, kind: str, rng: np.random.Generator) -> Array:
    """A random pose of a kind."""
    way, axis = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(2, 3)))
    lower, upper = np.clip(bench.robot.lower, -3.0, 3.0), np.clip(bench.robot.upper, -3.0, 3.0)
    if kind == "within reach":
        return bench.pose(rng.uniform(lower, upper))
    pose = start.copy()
    distance, angle = {
        "beyond reach": (rng.uniform(0.3, 0.7), rng.uniform(0.0, 0.6)), "behind the base": (0.1, rng.uniform(0.0, 3.0)),
        "1 km": (1000.0, 0.0), "turned by π": (0.1, np.pi),
    }[kind]  # fmt: skip
    pose[:3, :3] = so3.exp(angle * axis) @ start[:3, :3]
    pose[:2, 3] *= -1.0 if kind == "behind the base" else 1.0
    pose[:3, 3] += distance * way
    return pose


def targets(arm: str, count: int, seed: int) -> dict[str, Any]:
    """Random targets, and the way back from them."""
    bench, rng = Bench(arm, 2e-3), np.random.default_rng(seed)
    start, worst, missed = bench.pose(bench.q), dict[str, float](), 0
    for k in range(count):
        there = target(bench, start, KINDS[k % len(KINDS)], rng)
        messages = [(t, np.nan, "pose", there if t < AWAY else start) for t in np.arange(0.0, AWAY + BACK, EVERY)]
        poses, found = bench.motion(bench.run(messages, AWAY + BACK)[0])
        worst = {key: max(value, worst.get(key, 0.0)) for key, value in found.items()}
        missed += int(np.linalg.norm(poses[-1, :3, 3] - start[:3, 3]) > 1e-3)
    return {"arm": arm, "targets": count, "not back": missed, **worst}


def edges(arm: str) -> list[dict[str, Any]]:
    """The tool at the edge of the workspace, in SI units."""
    bench, rows = Bench(arm, 1e-3, **EDGE), []
    start = bench.pose(bench.q)
    out = np.array([1.0, 0.0, 0.0]) if arm == "prr" else start[:3, 3] / np.linalg.norm(start[:3, 3])
    other, twist = start.copy(), np.concatenate((0.1 * out, np.zeros(3)))
    other[:2, 3] *= -1.0

    def line(t: float) -> Array:
        pose = start.copy()
        pose[:3, 3] += 0.1 * t * out
        return pose

    given = {"line": (line, "pose"), "twist": (lambda t: twist, "twist"), "over the base": (lambda t: other, "pose")}
    for case, (numbers, what) in given.items():
        messages = [(t, t, what, numbers(t)) for t in np.arange(0.0, 12.0, 2e-3)]
        q, states, _ = bench.run(messages, 12.0)
        poses, found = bench.motion(q)
        way = poses[:, :3, 3] - start[:3, 3]
        row = {"arm": arm, "case": case, "speed [m/s]": found["speed"] * EDGE["speed"][0]}
        row |= {"acceleration [m/s²]": found["acceleration"] * EDGE["acceleration"][0], "joints": found["joints"]}
        row["off the line [mm]"] = 1e3 * float(np.linalg.norm(way - np.outer(way @ out, out), axis=1).max())
        rows.append(row | {"stood [s]": float((states == CODES["TOOL_STANDS"]).sum() * bench.dt)})
    return rows


def circles(arm: str, seed: int) -> list[dict[str, Any]]:
    """Circles from streams with few messages."""
    bench, rows, duration = Bench(arm, 1e-3), [], 20.0
    start, plane = bench.pose(bench.q), [0, 2] if arm == "prr" else [0, 1]

    def circle(t: float) -> Array:
        angle, pose = SPEED / RADIUS * (t - 0.5 if t > 1.0 else t * t / 2.0), start.copy()
        pose[plane, 3] += RADIUS * np.array([np.sin(angle), 1.0 - np.cos(angle)])
        return pose

    for rate in RATES:
        for spoilt in (False, True):
            rng, stamps = np.random.default_rng(seed), np.arange(0.0, duration, 1.0 / rate)
            stamps = stamps[rng.random(len(stamps)) >= 0.05 * spoilt]
            arrivals = stamps + 0.2 / rate * rng.random(len(stamps)) * spoilt
            messages = sorted(zip(arrivals, stamps, strict=True))
            q, _, delay = bench.run([(t, stamp, "pose", circle(stamp)) for t, stamp in messages], duration)
            places = np.array([bench.pose(row)[:3, 3] for row in q])
            wanted = np.array([circle((k + 1) * bench.dt - delay)[:3, 3] for k in range(len(places))])
            late = slice(round(4.0 / bench.dt), None)
            change = np.linalg.norm(np.diff(places, 2, axis=0), axis=1)[late] / bench.dt**2
            rms = float(np.sqrt((np.linalg.norm(places - wanted, axis=1)[late] ** 2).mean()))
            row = {"arm": arm, "rate [Hz]": rate, "jitter and loss": spoilt, "delay [s]": delay, "RMS [mm]": 1e3 * rms}
            rows.append(row | {"acceleration / ideal": float(change.max() * RADIUS / SPEED**2)})
    return rows


def main() -> None:
    """Print what was found."""
    parser = options(__doc__)
    parser.add_argument("--part", choices=("targets", "edges", "circles"), help="one part; all unless given")
    parser.add_argument("--arm", choices=ARMS, help="one arm; all unless given")
    parser.add_argument("--targets", type=int, default=100, help="how many for each arm")
    parser.add_argument("--seed", type=int, default=1, help="of what is random")
    args = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    for arm in [args.arm] if args.arm else ARMS:
        parts = {
            "targets": lambda arm=arm: [targets(arm, args.targets, args.seed)],
            "edges": lambda arm=arm: edges(arm),
            "circles": lambda arm=arm: circles(arm, args.seed),
        }
        for part in [args.part] if args.part else parts:
            if part == "targets" or arm in ("prr", "ur5_robot", "panda"):
                found.setdefault(part, []).extend(parts[part]())
    report(found, args.json)


if __name__ == "__main__":
    main()
