# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An arm, its drives and sensors, and the control loop, in lockstep: what the campaigns of ``make faults`` run.

A period is: the sensors measure, a fault may change the states on their way, the loop answers, the command reaches the
drives after the delay, and the plant moves. Everything is deterministic for a case, so that twins differ by nothing but
what the loop is told to do:

- ``checked``: the loop with its checks and reactions;
- ``unchecked``: the same law with all checks off; whatever is a reaction all the same is not sent;
- ``lets go``: as ``checked`` until the first reaction, and from then on nothing is sent.

Drives keep to the last command for :data:`COMMAND_TIMEOUT` and then brake, or go limp. They have no speed limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from common import PRR, urdfs

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings, gains, rest_to_rest
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import RobodynError
from robodyn_ros.plugins import load
from robodyn_ros.robot import Robot
from robodyn_ros.robot.description import UrdfEditor
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings
from robodyn_ros.simulation.plant.mismatch import Mismatch

ARMS = ("prr", "ur5_robot", "ur10_robot", "panda", "xarm7", "kinova", "z1", "chain3")
"""Arms of the campaigns: of this package, of example-robot-data, and random chains (``chain`` and a number)."""

COMMAND_TIMEOUT = 0.15
"""Time after the last command at which drives brake or go limp [s]."""

RATE = 100.0
"""Greatest rate of an effort, in effort limits a second, as the node has it [1/s]."""

WATCH_PERIOD = 0.02
"""Time between two looks for states that are missing, while all is well, as the node has it [s]."""

START = 10.0
"""Time of the first state [s]."""

OFF = {"plausibility": False, "following_tolerance": 0.0, "overspeed": 100.0}
"""Settings that turn the checks off."""


ON_TIME = {"command_delay": 0.0}
"""A case's delay is in the age of its states."""


class State(NamedTuple):
    """What a driver publishes, and when it comes [s]."""

    stamp: float
    q: Array
    qd: Array
    age: float = 0.0


Inject = Callable[["Cell", State], list[State]]
"""Changes a state: the states that come instead of it. It may change the cell, too."""

Each = Callable[["Cell"], None]
"""What is done in each period."""


class Arm(NamedTuple):
    """An arm of a campaign: its robot, its model, and the dynamics of its plant, which each case configures anew."""

    name: str
    robot: Robot
    model: Dynamics
    true: Dynamics
    inertial: Array  # as the URDF has it
    low: Array  # between where it works (n,) [rad] or [m]
    high: Array


@cache
def arm_of(name: str, damping: float = 0.0) -> Arm:
    """The arm of a name, or of the path of a URDF.

    Args:
        name: one of :data:`ARMS`, any URDF of example-robot-data, ``chain`` and a seed, or a path.
        damping: viscous friction that the URDF tells, of each joint [N·m·s/rad] or ten times as much [N·s/m].
    """
    from arms import random_robot  # of the tests, as common finds them

    found: dict[str, Any] = {"prr": PRR, **urdfs()}
    source = random_robot(int(name[5:]), 4, 0.0, 0.0) if name.startswith("chain") else str(found.get(name, name))
    robot = rd.load_robot(source)
    if damping:
        editor = UrdfEditor(robot.urdf)
        for joint in robot.joint_names:
            editor.set_dynamics(joint, "damping", damping)
            editor.set_dynamics(joint, "friction", 0.0)
        robot = rd.load_robot(editor.text())
    if not np.isfinite([robot.effort_limit, robot.velocity_limit]).all():
        raise SystemExit(f"{name}: its URDF needs effort and velocity limits of all joints, by which faults are judged")
    reach = np.where(prismatic(robot), 1.0, 2.5)
    low, high = np.maximum(robot.lower, -reach), np.minimum(robot.upper, reach)
    high = np.where(high <= low, np.minimum(robot.upper, low + reach), high)
    model, true = (rd.create_dynamics("rnea", robot) for _ in range(2))
    margin = 0.15 * (high - low)
    return Arm(name, robot, model, true, true.parameters.inertial, low + margin, high - margin)


@dataclass(frozen=True)
class Sensing:
    """How states come about."""

    position_noise: float = 0.0  # standard deviation [rad]; a tenth of it [m]
    velocity_noise: float = 0.0  # likewise [rad/s]
    resolution: float = 0.0  # of the encoders [rad]; a tenth of it [m]
    window: float = 0.0  # over which positions are differentiated [s]; 0 where velocities are measured
    stamped_late: bool = False  # whether the stamp is that of the arrival


@dataclass(frozen=True)
class Setup:
    """A case: everything that twins have in common."""

    arm: Arm
    start: Array
    law: str = "computed_torque"
    frequency: float = 10.0
    damping_ratio: float = 1.0
    period: float = 0.002
    delay: float = 0.0  # from a measurement until its command acts [s]
    sensing: Sensing = Sensing()
    parameters: dict[str, Any] = field(default_factory=dict)  # of the true dynamics
    friction: tuple[FrictionSettings, ...] | None = None
    safety: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    make_law: Callable[[Dynamics], Controller] | None = None


def controller_of(setup: Setup) -> Controller:
    """The control law of a case."""
    model = setup.arm.model
    if setup.make_law is not None:
        return setup.make_law(model)
    kind = load("controllers", setup.law)
    law: Controller = kind(model, *gains(kind, model, setup.start, setup.frequency, setup.damping_ratio))
    return law


def carried(setup: Setup, faster: tuple[float, ...] = ()) -> Setup:
    """The case with gains that its states carry by far: other rates, then lower gains, then another law."""
    for rate in (1.0 / setup.period, *faster):
        setup = replace(setup, period=1.0 / rate)
        if _is_carried(setup):
            return setup
    for _ in range(12):
        setup = replace(setup, frequency=0.75 * setup.frequency)
        if _is_carried(setup):
            return setup
    return replace(setup, law="computed_torque", frequency=10.0)


def _is_carried(setup: Setup) -> bool:
    """Whether a period and the delay are short beside the quickest feedback, where the arm starts."""
    damping = controller_of(setup).acceleration_gains(setup.start).velocity
    return float(np.abs(np.linalg.eigvals(damping)).max()) * (setup.period + setup.delay) < 0.5


class Cell:
    """An arm under its loop.

    Attributes:
        t: the time [s].
        sent: the effort that was sent last (n,); None before the first and after the last.
        speed: greatest speed of a joint since :meth:`watch`, in velocity limits.
        moved: greatest displacement of a joint since then [rad] or [m].
        step: greatest change of an effort from one command to the next since then, in effort limits.
        stopped: whether a joint was at its position limit since then.
        detected: when the first reaction began [s]; inf if none has.
        fault: its kind and its words.
        at_detection: ``speed`` then.
        refused: how many states were refused.
        timed_out: whether the drives ever missed commands.
        drive: changes the efforts on their way to the arm.
        blocked: joints that something holds → where.
        command: the latest command of the loop.
    """

    def __init__(self, setup: Setup, *, checks: bool = True, brakes: bool = True, lets_go: bool = False) -> None:
        self.setup, self.checks, self.brakes, self.lets_go = setup, checks, brakes, lets_go
        self.robot = robot = setup.arm.robot
        self.law = controller_of(setup)
        safety = SafetySettings(**{**ON_TIME, **setup.safety, **({} if checks else OFF)})
        self.loop = ControlLoop(self.law, robot.effort_limit, safety, rate_limit=RATE * robot.effort_limit)
        setup.arm.true.configure(**{"inertial": setup.arm.inertial, "payload": None, **setup.parameters})
        step = min(setup.period, 0.001)
        free = np.full(robot.n, np.inf)
        friction = None if setup.friction is None else list(setup.friction)
        self.plant = Plant(setup.arm.true, PlantSettings(step), q0=setup.start, friction=friction, velocity_limit=free)
        self.steps, self.late_steps = round(setup.period / step), round(setup.delay / step)
        self._unit = np.where(prismatic(robot), 0.1, 1.0)
        self._random = np.random.default_rng(setup.seed)
        self._past: deque[Array] = deque(maxlen=max(1, round(setup.sensing.window / setup.period)) + 1)
        self._coming: deque[Array | None] = deque([None] * (self.late_steps // self.steps))
        self.count = 0
        self.sent: Array | None = None
        self._active: Array | None = None
        self._commanded = self._asked = -np.inf
        self.detected, self.fault, self.refused, self.timed_out = np.inf, ("", ""), 0, False
        self.at_detection = 0.0
        self.drive: Callable[[Array], Array] | None = None
        self.blocked: dict[int, float] = {}
        self.command: Any = None
        self.watch()

    @property
    def t(self) -> float:
        """The time [s]."""
        return START + self.count * self.setup.period

    def watch(self) -> None:
        """Watch the greatest values from now on."""
        self.speed = self.moved = self.step = 0.0
        self.stopped, self.watched_from = False, self.plant.q

    def run(
        self,
        duration: float,
        inject: Inject | None = None,
        each: Iterable[Each] = (),
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run for a time [s], with a fault, and with what is done in each period, until something is so."""
        for _ in range(round(duration / self.setup.period)):
            state = self._read()
            self._answer([state] if inject is None else inject(self, state))
            for act in each:
                act(self)
            self._move()
            self.count += 1
            if until():
                return

    def _read(self) -> State:
        sensing, q, qd = self.setup.sensing, self.plant.q, self.plant.qd
        if sensing.position_noise:
            q = q + sensing.position_noise * self._unit * self._random.standard_normal(len(q))
        if sensing.resolution:
            grain = sensing.resolution * self._unit
            q = grain * np.round(q / grain)
        if sensing.window:
            self._past.append(q)
            span = (len(self._past) - 1) * self.setup.period
            qd = (q - self._past[0]) / span if span else np.zeros(len(q))
        elif sensing.velocity_noise:
            qd = qd + sensing.velocity_noise * self._unit * self._random.standard_normal(len(q))
        age = 0.0 if sensing.stamped_late else self.setup.delay
        return State(self.t, q, qd, age)

    def _answer(self, states: list[State]) -> None:
        if self.lets_go and self.detected < np.inf:
            self._receive(None)
            return
        command, came = None, False
        for state in states:
            try:
                command = self.loop.update(state.stamp, self.t + state.age, state.q, state.qd) or command
                came = True
            except RobodynError:
                self.refused += 1
        if not came and self.t - self._asked >= self.loop.watch_due(WATCH_PERIOD) - 1e-9:
            command, self._asked = self.loop.watch(self.t), self.t
        fault = self.loop.fault if command is None and self.checks else None
        if fault is not None:
            self._detect(fault.kind, "nothing is sent")
        self._receive(command)

    def _receive(self, command: Any) -> None:
        """What comes out of the loop goes to the drives, after the delay."""
        if command is not None and command.fault is not None:
            self._detect(command.fault, command.problem)
            if not self.checks or self.lets_go:
                command = None
        effort = None if command is None else command.effort
        if effort is not None:
            if self.sent is not None:
                self.step = max(self.step, float((np.abs(effort - self.sent) / self.robot.effort_limit).max()))
            self.sent = effort
        self.command = command
        self._coming.append(effort)

    def _detect(self, kind: str, problem: str) -> None:
        if self.detected == np.inf:
            self.detected, self.fault, self.at_detection = self.t, (kind, problem), self.speed

    def _move(self) -> None:
        effort, wait = self._coming.popleft(), self.late_steps % self.steps
        if wait:
            self._advance(wait)
        if effort is not None:
            self._commanded, self._active = self.t, effort
        self._advance(self.steps - wait)
        q, qd = self.plant.q, self.plant.qd
        self.speed = max(self.speed, float((np.abs(qd) / self.robot.velocity_limit).max()))
        self.moved = max(self.moved, float(np.abs(q - self.watched_from).max()))
        if not self.stopped:
            self.stopped = bool(((q <= self.robot.lower + 1e-6) | (q >= self.robot.upper - 1e-6)).any())

    def _advance(self, steps: int) -> None:
        """Let the drives give their efforts, and the arm move."""
        if self._active is None:
            return  # brakes hold it until the first command
        if self.t - self._commanded > COMMAND_TIMEOUT:
            self.timed_out = True
            if self.brakes:
                if self.plant.qd.any():
                    self.plant.halt()
                return
            self.plant.apply(np.zeros(self.robot.n))
        else:
            self.plant.apply(self._active if self.drive is None else self.drive(self._active))
        if self.blocked:
            self._keep_blocked()
        self.plant.step(steps)

    def _keep_blocked(self) -> None:
        """Something rigid holds some joints: they are put back with each period, the others keep their speed."""
        q, qd = self.plant.q.copy(), self.plant.qd.copy()
        for joint, where in self.blocked.items():
            q[joint], qd[joint] = where, 0.0
        effort = self.plant.effort
        self.plant.reset(np.clip(q, self.robot.lower, self.robot.upper), qd)
        self.plant.apply(effort)


class Swing:
    """Has an arm swing between two poses, as long as nothing is wrong.

    Attributes:
        ends: the poses (2, n).
        duration: of one way [s].
    """

    def __init__(self, ends: Array, duration: float, pause: float = 0.1) -> None:
        self.ends, self.duration, self._pause = ends, duration, pause
        self._next, self._to = -np.inf, 1

    def __call__(self, cell: Cell) -> None:
        """The next swing, once the last one is over."""
        if cell.t < self._next or cell.detected < np.inf:
            return
        if self._next == -np.inf:
            self._next = cell.t + self._pause
            return
        try:
            cell.loop.follow(rest_to_rest([self.ends[self._to]], [self.duration]))
        except RobodynError:  # a fault lasts, or the loop has seen nothing yet: later
            self._next = cell.t + self._pause
            return
        self._to, self._next = 1 - self._to, cell.t + self.duration + self._pause


def prismatic(robot: Robot) -> list[bool]:
    """Of each joint, whether it is prismatic."""
    return [joint.is_prismatic for joint in robot.joints]


def place(arm: Arm, random: np.random.Generator, share: float = 0.6) -> Array:
    """A pose in which the effort limits carry the arm with a part of themselves (n,).

    Raises:
        ValueError: no such pose was found.
    """
    for _ in range(200):
        q: Array = random.uniform(arm.low, arm.high)
        if (np.abs(arm.model.gravity(q)) <= share * arm.robot.effort_limit).all():
            return q
    raise ValueError(f"{arm.name}: the effort limits carry it nowhere")


def swing_from(
    arm: Arm, start: Array, random: np.random.Generator, reach: float, speed: float, least: float = 1.0
) -> Swing:
    """A swing from a pose to one nearby.

    Args:
        arm: the arm.
        start: the pose (n,).
        random: draws the other one.
        reach: greatest distance of a joint [rad]; a tenth of it [m].
        speed: greatest speed of a joint, in velocity limits.
        least: shortest time for it [s].
    """
    scale = np.where(prismatic(arm.robot), 0.2, 1.0)
    end = start
    for _ in range(200):
        way = scale * random.uniform(0.3, 1.0, arm.robot.n) * reach * random.choice([-1.0, 1.0], arm.robot.n)
        end = start + way
        end = np.where((end < arm.low) | (end > arm.high), start - way, end)
        end = np.clip(end, arm.low, arm.high)
        if (np.abs(arm.model.gravity(end)) <= 0.7 * arm.robot.effort_limit).all():
            break
    distance = np.abs(end - start)
    by_speed = float((15.0 / 8.0 * distance / (speed * arm.robot.velocity_limit)).max())
    load = np.abs(arm.model.mass_matrix(start) @ distance) + np.diagonal(arm.model.mass_matrix(end)) * distance
    by_effort = float(np.sqrt((5.78 * load / (0.3 * arm.robot.effort_limit)).max()))  # of a quintic: 5.78 d / T²
    return Swing(np.array([start, end]), max(least, by_speed, by_effort))


def unknown(arm: Arm, random: np.random.Generator, masses: float, friction: float, payload: float) -> dict[str, Any]:
    """What the model does not know: parameters of the true dynamics, and the friction of the joints.

    Args:
        arm: the arm.
        random: draws it.
        masses: greatest relative error of masses and inertias [-].
        friction: greatest friction, as part of the effort limits [-].
        payload: greatest mass at the default tool [kg]; no more than the drives carry.
    """
    robot = arm.robot
    dry = friction * random.uniform(0.0, 1.0, robot.n) * robot.effort_limit
    carried = payload * float(random.uniform(0.0, 1.0)) * float(random.random() < 0.6)
    weakest = float(robot.effort_limit.min())
    mismatch = Mismatch(mass_spread=masses, inertia_spread=masses, payload_mass=min(carried, weakest / 10.0))
    sampled = mismatch.draw(robot, int(random.integers(2**31)))
    told = zip(robot.damping.tolist(), robot.friction.tolist(), dry.tolist(), strict=True)
    joints = tuple(FrictionSettings(damping, coulomb + more, coulomb + more) for damping, coulomb, more in told)
    return {"parameters": sampled.parameters, "friction": joints}
