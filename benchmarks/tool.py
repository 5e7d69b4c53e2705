# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the laws of the tool achieve: a circle, singular poses, a wall, and a stream that loses messages.

    make bench-tool                                 all of it
    make bench-tool BENCH="--part wall"             one part: circle, singular, wall, slide, stream
    make bench-tool BENCH=--json

The control loop and the plant run in lockstep at 1 kHz, with ideal sensors, without a rate limit of the efforts, so
that a step of the law is seen as it is. All faults are on, as the node has them by default: one ends its case. All
laws have the gains of ``FREQUENCY`` and ``STIFFNESS``. Where masses are wrong, masses and inertias of all bodies are
10 % greater than the model's. UR5 and Panda are those of the package example-robot-data, where that is installed.

- *circle*: 0.2 m in diameter, in the vertical plane x-z, one turn in 2 s, after a start from rest. All laws get the
  same reference of the joints, from inverse kinematics. RMS of the tool's distance from the circle's point, in the
  turn at full speed.
- *singular*: a swing of one joint through a singular pose and back, then a second of rest; and two seconds in it. How
  far the arm and its tool end from where they are told to with wrong masses, and the fault if there was one. Beside it
  the same law with almost no damping of singularities: no setting switches it off, so the floor λ₀ of the task space is
  ``UNDAMPED``.
- *wall*: 20 kN/m, met at full speed; the reference stops 20 mm behind its surface. The bounce is the greatest
  difference from the last force, from 0.5 s after the first touch on. Then 10 N along the wall at 0.1 m/s.
- *stream*: poses of a circle at 500 Hz, a fifth of them lost, the others late by up to 10 ms and out of order, beside
  all of them in time.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import POSES, options, report, robot_of, urdfs
from scipy.interpolate import CubicSpline

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings, Trajectory, gains, rest_to_rest
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.cartesian_impedance import CartesianImpedanceSettings
from robodyn_ros.control.laws.operational_space import OperationalSpaceSettings
from robodyn_ros.control.laws.tool import ToolLaw
from robodyn_ros.control.motion.streams import StreamedTool
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse.solver import InverseKinematics
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.plugins import load
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.plant.external_forces import Wall
from robodyn_ros.simulation.plant.mismatch import Mismatch

PERIOD = 1e-3
FREQUENCY = 20.0
"""Natural frequency of the joints' and of the tool's error [rad/s]."""
STIFFNESS = 2000.0, 100.0
"""Of the law cartesian_impedance [N/m], [N·m/rad]."""
WRONG = 0.1
UNDAMPED = 1e-9
"""λ₀ in place of the arm's own; 0 would divide by zero."""
DIAMETER, TURN, START = 0.2, 2.0, 1.0
"""Of the circle [m], [s], and time from rest to full speed [s]."""
WALL, BEHIND, SPEEDS = 2e4, 0.02, (0.1, 0.3)
FORCE, SLIDING, FRICTION = 10.0, 0.1, (0.0, 0.2)
"""Of the tool against the wall [N], its speed along it [m/s], and coefficients of the wall's friction."""
RATE, LOST, JITTER = 500.0, 0.2, 0.01

INSTALLED = urdfs()

ARMS = tuple(arm for arm in ("prr", "panda") if arm == "prr" or arm in INSTALLED)

SINGULAR = {
    "PRR outstretched": ("prr", [0.6, np.pi / 2.0, 0.9], 1, "tool"),
    "UR5 outstretched": ("ur5_robot", [0.3, -1.1, 0.0, 0.4, 1.2, 0.2], 2, "tool0"),
    "UR5 wrist aligned": ("ur5_robot", [0.3, -1.1, 1.5, 0.4, 0.0, 0.2], 4, "tool0"),
    "Panda outstretched": ("panda", [0.1, -0.6, 0.2, -0.46700, 0.1, 1.6, 0.7, 0.02], 3, "panda_hand_tcp"),
    "Panda shoulder aligned": ("panda", [0.1, 0.0, np.pi / 2.0, -2.1, 0.1, 1.6, 0.7, 0.02], 1, "panda_hand_tcp"),
}
"""Pose, the joint that swings through it, and the tool."""
CASES = tuple(title for title, (arm, *_) in SINGULAR.items() if arm == "prr" or arm in INSTALLED)


SAFETY = SafetySettings()
"""The defaults: faults end a motion here as they do on an arm."""

HELD = {"ur5_robot": Payload("tool0", 1.0, (0.0, 0.0, 0.05), np.diag([2e-3, 2e-3, 1e-3]).tolist())}
"""What an arm holds, known to the model: the URDF of the UR5 has no rotors, and its last link next to no inertia."""


def law_of(name: str, link: str, model: rd.Dynamics, **given: Any) -> Controller:
    """A law with the gains of this benchmark; ``given`` are settings of its own."""
    kind = load("controllers", name)
    config: dict[str, Any] = {}
    if name == "cartesian_impedance":
        stiffness = {"stiffness": np.repeat(STIFFNESS, 3).tolist()}
        config["config"] = CartesianImpedanceSettings(link=link, **(stiffness | given))
    elif name == "operational_space":
        config["config"] = OperationalSpaceSettings(link=link, **({"natural_frequency": FREQUENCY} | given))
    law: Controller = kind(model, *gains(kind, model, model.robot.home, FREQUENCY, 1.0), **config)
    return law


class Record(NamedTuple):
    """What happened in N periods."""

    q: Array  # (N, n) [rad] or [m]
    qd: Array  # (N, n)
    effort: Array  # (N, n) [N·m] or [N]
    force: Array  # (N,) of the wall [N]


class Bench:
    """An arm under a law, beside a wall or not."""

    def __init__(
        self, arm: str, q: Array | list[float], make: Callable[[rd.Dynamics], Controller],
        wrong: float = 0.0, wall: Wall | None = None, safety: SafetySettings | None = None,
    ) -> None:  # fmt: skip
        robot = robot_of(arm)
        self.robot, self.wall, self.kinematics = robot, wall, Kinematics(robot)
        known = {"payload": HELD.get(arm)}
        self.loop = ControlLoop(make(rd.create_dynamics("rnea", robot, **known)), robot.effort_limit, safety or SAFETY)
        drawn = Mismatch(mass_scale=1.0 + wrong).draw(robot, 1)
        true = rd.create_dynamics("rnea", robot, inertial=drawn.inertial, **known)
        free = np.full(robot.n, np.inf)
        contacts = () if wall is None else (wall,)
        self.plant = Plant(true, PlantSettings(PERIOD), q0=q, velocity_limit=free, contacts=contacts)
        self.steps, self.fault = 0, ""

    @property
    def t(self) -> float:
        """The time [s]."""
        return self.steps * PERIOD

    def run(self, duration: float, before: Callable[[float], None] = lambda t: None) -> Record:
        """Run for a time [s], or until a fault; ``before`` is called with the time of each period."""
        rows = []
        for _ in range(round(duration / PERIOD)):
            before(self.t)
            command = self.loop.update(self.t, self.t, self.plant.q, self.plant.qd)
            if command is None or command.fault is not None:
                self.fault = f"{'' if command is None else command.fault} at {self.t:.2f} s"
                break
            rows.append((self.plant.q, self.plant.qd, command.effort, self.pressing()))
            self.plant.apply(command.effort)
            self.plant.step()
            self.steps += 1
        return Record(*map(np.array, zip(*rows, strict=True)))

    def pressing(self) -> float:
        """The force of the wall [N], as :mod:`robodyn_ros.simulation.plant.external_forces` has it."""
        if (wall := self.wall) is None:
            return 0.0
        normal = np.asarray(wall.normal)
        place = self.kinematics.pose(wall.link, self.plant.q)[:3, 3]
        speed = normal @ self.kinematics.jacobian(wall.link, self.plant.q)[:3] @ self.plant.qd
        depth = normal @ (wall.point - place)
        return float(max(wall.stiffness * depth * (1.0 - wall.dissipation * speed), 0.0)) if depth > 0.0 else 0.0


def along(arm: str, duration: float, way: Callable[[float], Array], step: float = 0.005) -> Trajectory:
    """The joints' motion, by inverse kinematics, that displaces the tool by ``way`` (3,) [m] and does not turn it."""
    q, link = POSES[arm]
    kinematics = Kinematics(robot_of(arm))
    solver, start = InverseKinematics(kinematics, link), kinematics.pose(link, np.array(q))
    task = Task.planar() if arm == "prr" else Task.pose()
    times, positions = np.arange(np.ceil(duration / step) + 1) * step, [np.array(q)]
    for t in times[1:]:
        target = start.copy()
        target[:3, 3] += way(t)
        found = solver.solve(target, positions[-1], task)
        assert found.converged, found.reason
        positions.append(found.q)
    curve = CubicSpline(times, positions, bc_type="clamped")
    return Trajectory(times, positions, curve(times, 1), curve(times, 2))


def travelled(t: float, up: float, steady: float, down: float) -> float:
    """How far a motion with a speed of 1 is, that takes ``up`` [s] to begin, and ``down`` [s] to end, smoothly."""
    rising, falling = np.clip([t / up, (up + steady + down - t) / down], 0.0, 1.0)
    begun, left = (s**4 * (2.5 - 3.0 * s + s**2) for s in (rising, falling))  # no jump of the acceleration
    return float(up * begun + np.clip(t - up, 0.0, steady) + down * (0.5 - left))


def circle_at(t: float) -> Array:
    """The displacement (3,) [m] on the circle: from rest, once at full speed, to rest."""
    angle = 2.0 * np.pi * travelled(t, START, TURN, START) / TURN
    return DIAMETER / 2.0 * np.array([np.sin(angle), 0.0, 1.0 - np.cos(angle)])


TOOL_LAWS = "operational_space", "cartesian_impedance"
LAWS = "computed_torque", *TOOL_LAWS


def circle(arms: tuple[str, ...] = ARMS) -> list[dict[str, Any]]:
    """RMS and greatest distance of the tool from the circle [m]."""
    rows = []
    for arm in arms:
        (q, link), motion = POSES[arm], along(arm, 2.0 * START + TURN, circle_at)
        for name in LAWS:
            row: dict[str, Any] = {"arm": arm, "law": name}
            for wrong in (0.0, WRONG):
                bench = Bench(arm, q, partial(law_of, name, link), wrong)
                bench.run(1.0)
                bench.loop.follow(motion, bench.t)
                poses = bench.kinematics.pose(link, bench.run(START + TURN).q)[:, :3, 3]
                origin = bench.kinematics.pose(link, np.array(q))[:3, 3]
                wanted = origin + [circle_at(k * PERIOD) for k in range(len(poses))]
                away = np.linalg.norm(poses - wanted, axis=1)[round(START / PERIOD) :]
                row["wrong" if wrong else "matched"] = float(np.sqrt(np.mean(away**2)))
            rows.append(row)
    return rows


SWING = 0.35
"""How far the joint swings to both sides of a singular pose, there and back in a second each [rad]."""


def undamped(name: str, link: str, model: rd.Dynamics) -> Controller:
    """A law with almost no damping of singularities."""
    law = law_of(name, link, model)
    if isinstance(law, ToolLaw):
        law.acceleration_gains = copy.copy(law).acceleration_gains  # type: ignore[method-assign] # else it is refused
        law.task = law.task.scaled(np.append(law.task.scales[0], UNDAMPED))
    return law


def swinging(title: str, make: Callable[[rd.Dynamics], Controller], wrong: float, swing: float = SWING) -> Bench:
    """An arm that begins to swing through a singular pose."""
    arm, q, joint, _ = SINGULAR[title]
    start, end = (np.array(q) + side * swing * np.eye(len(q))[joint] for side in (1.0, -1.0))
    bench = Bench(arm, start, make, wrong)
    bench.loop.update(0.0, 0.0, start, 0.0 * start)
    bench.loop.follow(rest_to_rest([start, end, start], [0.0, 1.0, 2.0]), 0.0)
    return bench


def singular(poses: tuple[str, ...] = CASES) -> list[dict[str, Any]]:
    """Greatest speed of a joint [velocity limits] and effort step [effort limits], passing and holding."""
    rows = []
    for title in poses:
        link = SINGULAR[title][-1]
        for name in LAWS:
            for damping, make in {"on": law_of, "off": undamped}.items() if name in TOOL_LAWS else [("", law_of)]:
                row: dict[str, Any] = {"pose": title, "law": name, "damping": damping}
                for phase, wrong, swing in (("right", 0.0, SWING), ("wrong", WRONG, SWING), ("hold", WRONG, 0.0)):
                    bench = swinging(title, partial(make, name, link), wrong, swing)
                    start = bench.plant.q.copy()
                    record, robot = bench.run(3.0 if swing else 2.0), bench.robot
                    if phase == "wrong":
                        row["fault"] = bench.fault
                        row["joints_end"] = float(np.abs(bench.plant.q - start).max())
                        ends = (bench.kinematics.pose(link, place)[:3, 3] for place in (bench.plant.q, start))
                        row["tool_end"] = float(np.linalg.norm(np.subtract(*ends)))
                    row[f"{phase}_speed"] = float((np.abs(record.qd) / robot.velocity_limit).max())
                    row[f"{phase}_step"] = float((np.abs(np.diff(record.effort, axis=0)) / robot.effort_limit).max())
                rows.append(row)
    return rows


def straight(speed: float, distance: float, axis: int) -> tuple[float, Callable[[float], Array]]:
    """Duration and displacement: from rest to a speed [m/s] within 0.3 s, and to rest at a distance [m] in 20 ms."""
    up, down = 0.3, 0.02
    steady = distance / speed - (up + down) / 2.0
    return up + steady + down, lambda t: speed * travelled(t, up, steady, down) * np.eye(3)[axis]


def collide(arm: str, name: str, speed: float, **given: Any) -> dict[str, Any]:
    """Run into the wall."""
    q, link = POSES[arm]
    place = Kinematics(robot_of(arm)).pose(link, np.array(q))[:3, 3]
    distance = max(0.05, 0.5 * speed)
    wall = Wall(link, place + [distance, 0.0, 0.0], (-1.0, 0.0, 0.0), WALL)
    bench = Bench(arm, q, partial(law_of, name, link, **given), wall=wall)
    model = bench.loop.dynamics
    bench.loop.update(0.0, 0.0, q, np.zeros(len(q)))
    duration, way = straight(speed, distance + BEHIND, 0)
    bench.loop.follow(along(arm, duration, way), 0.0)
    record = bench.run(duration + 1.5)
    touch = int(np.flatnonzero(record.force > 0.0)[0])
    direction = bench.kinematics.jacobian(link, record.q[touch])[0]
    mass = 1.0 / float(direction @ np.linalg.solve(model.mass_matrix(record.q[touch]), direction))
    late, last = record.force[touch + round(0.5 / PERIOD) :], record.force[-100:].mean()
    return {
        "law": name,
        "speed": float(direction @ record.qd[touch]),
        "mass": mass,
        "peak": float(record.force.max()),
        "free_peak": speed * float(np.sqrt(WALL * mass)),
        "bounce": float(np.abs(late - last).max()),
        "last": float(last),
    }


def slide(arm: str, friction: float) -> dict[str, Any]:
    """Press against the wall, and slide along it."""
    q, link = POSES[arm]
    place = Kinematics(robot_of(arm)).pose(link, np.array(q))[:3, 3]
    wall = Wall(link, place + [0.005, 0.0, 0.0], (-1.0, 0.0, 0.0), WALL, friction=friction)
    make = partial(law_of, "operational_space", link, force_directions="x", force=(FORCE, 0.0, 0.0, 0.0, 0.0, 0.0))
    bench = Bench(arm, q, make, wall=wall)
    touched = bench.run(1.5).force
    duration, way = straight(SLIDING, 0.15, 2)
    bench.loop.follow(along(arm, duration, way), bench.t)
    record = bench.run(duration)
    steady = record.force[round(0.3 / PERIOD) : round((duration - 0.05) / PERIOD)]
    return {"friction": friction, "peak": float(touched.max()), "off": float(np.abs(steady - FORCE).max())}


def stream(arms: tuple[str, ...] = ARMS, names: tuple[str, ...] = TOOL_LAWS) -> list[dict[str, Any]]:
    """A stream with losses and jitter beside the same one without: distances of the tool [m], steps [limits]."""
    rows = []
    for arm in arms:
        for name in names:
            (clean, clean_step), (spoilt, step) = streamed(arm, name, False), streamed(arm, name, True)
            late = round(JITTER / 2.0 / PERIOD)
            away, but_late = (np.linalg.norm(spoilt[late:] - other, axis=1) for other in (clean[late:], clean[:-late]))
            rms, rms_late = (float(np.sqrt(np.mean(each**2))) for each in (away, but_late))
            row = {"arm": arm, "law": name, "rms": rms, "rms_but_late": rms_late, "greatest": float(away.max())}
            rows.append(row | {"clean_step": clean_step, "step": step})
    return rows


def streamed(arm: str, name: str, spoilt: bool) -> tuple[Array, float]:
    """Positions of the tool (N, 3) [m], and the greatest effort step [effort limits], under a stream."""
    q, link = POSES[arm]
    bench = Bench(arm, q, partial(law_of, name, link))
    bench.run(0.5)
    begin, duration, rng = bench.t, 2.0 * START + TURN, np.random.default_rng(5)
    bench.loop.apply(bench.loop.settings._replace(tool=StreamedTool.of(bench.robot, link)))
    centre, sent = bench.kinematics.pose(link, np.array(q)), begin + np.arange(round(duration * RATE)) / RATE
    arrivals = sent + (rng.uniform(0.0, JITTER, len(sent)) if spoilt else 0.0)
    kept = rng.random(len(sent)) >= LOST * spoilt
    messages = sorted(zip(arrivals[kept], sent[kept], strict=True), reverse=True)

    def feed(t: float) -> None:
        while messages and messages[-1][0] <= t + 1e-9:
            pose, stamp = centre.copy(), messages.pop()[1]
            pose[:3, 3] += circle_at(stamp - begin)
            bench.loop.move_tool("pose", pose, t, stamp)

    record = bench.run(duration + 0.5, feed)
    steps = np.abs(np.diff(record.effort, axis=0)) / bench.robot.effort_limit
    return bench.kinematics.pose(link, record.q)[:, :3, 3], float(steps.max())


PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "circle": (f"A circle of {DIAMETER:g} m in diameter in {TURN:g} s: RMS of the tool's distance [m]", circle),
    "singular": (
        f"Singular poses, passed with the model right, with masses {WRONG:.0%} wrong, and held with these: greatest "
        "speed of a joint [velocity limits], effort step in a millisecond [effort limits], and where joints and tool "
        "end with wrong masses [rad or m], [m]",
        singular,
    ),
    "wall": (
        f"A wall of {WALL / 1e3:g} kN/m; v√(k m) is the peak of the arm's effective mass alone [N]",
        lambda: [{"arm": arm, **collide(arm, name, speed)} for arm in ARMS for name in LAWS for speed in SPEEDS],
    ),
    "slide": (
        f"{FORCE:g} N along the wall at {SLIDING:g} m/s, by operational_space [N]",
        lambda: [{"arm": arm, **slide(arm, friction)} for arm in ARMS for friction in FRICTION],
    ),
    "stream": (f"Poses at {RATE:g} Hz, {LOST:.0%} lost, the others up to {1e3 * JITTER:g} ms late [m]", stream),
}
"""Part → title of its table, and its rows."""


def main() -> None:
    """Print what was found."""
    parser = options(__doc__)
    parser.add_argument("--part", choices=list(PARTS), help="one part; all unless given")
    args = parser.parse_args()
    report({title: rows() for part, (title, rows) in PARTS.items() if args.part in (None, part)}, args.json)


if __name__ == "__main__":
    main()
