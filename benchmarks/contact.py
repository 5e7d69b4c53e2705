# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the momentum observer finds, and how soon: free motion, a collision with a spring, and the smallest push.

    python benchmarks/contact.py                    PRR, UR5 and Panda; five minutes of free motion for each
    python benchmarks/contact.py --minutes 60       an hour
    python benchmarks/contact.py --arms prr --json

Each arm moves at 1 kHz under computed torque. Its friction is 10 % more than the model knows, its encoders are noisy,
and commands take 2 ms. A minute of free motion proposes the thresholds; other motions then count the false alarms. In
a collision the tool meets a spring of 50 N/mm at 0.5 m/s. The smallest push is the force at the tool, at rest, that
the threshold of a touch finds within half a second, by bisection.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from common import POSES, options, report, robot_of

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings, Trajectory
from robodyn_ros.control.contact import Contact, ContactThresholds, ProposedThresholds, propose_thresholds
from robodyn_ros.control.momentum_observer import MomentumObserver
from robodyn_ros.control.motion.point_to_point import point_to_point
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.plant.external_forces import Wall
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings

PERIOD = 1e-3
DELAY = 2
POSITION_NOISE, VELOCITY_NOISE = 2e-5, 2e-3
FRICTION = 0.02
"""Coulomb friction that the model knows, in effort limits; the arm has 10 % more of it."""
MORE = 1.1
STIFFNESS, SPEED = 5e4, 0.5
"""Of the spring [N/m], and of the tool [m/s]."""


class Bench:
    """An arm with noise, delay and more friction than its model knows, under a loop that observes contacts."""

    def __init__(self, name: str, seed: int, thresholds: ContactThresholds | None = None, walls: tuple[Wall, ...] = ()):
        robot = robot_of(name)
        self.robot, self.rng, n = robot, np.random.default_rng(seed), robot.n
        limits = robot.effort_limit
        coulomb = FRICTION * limits
        model = rd.create_dynamics("rnea", robot, coulomb=coulomb)
        observer = MomentumObserver(model, POSES[name][1])
        self.loop = ControlLoop(
            rd.create_controller("computed_torque", model, 100.0, 20.0), limits,
            SafetySettings(plausibility=False, externally_supported=True, following_tolerance=0.0,
                           allow_nonzero_velocity_at_trajectory_end=True),
            contact=Contact(observer, thresholds or thresholds_of(np.full(n, np.inf), np.full(n, np.inf))),
        )  # fmt: skip
        friction = [FrictionSettings(coulomb=MORE * each) for each in coulomb]
        self.plant = Plant(
            rd.create_dynamics("rnea", robot), PlantSettings(PERIOD), limits, POSES[name][0], friction=friction,
            contacts=walls,
        )  # fmt: skip
        self.model, self.limits = model, limits
        self.steps, self.queue = 0, [model.gravity(self.plant.q)] * DELAY

    def step(self) -> Any:
        """One period; the command of it."""
        n, t = self.robot.n, self.steps * PERIOD
        noise = self.rng.normal(size=(2, n))
        q, qd = self.plant.q + POSITION_NOISE * noise[0], self.plant.qd + VELOCITY_NOISE * noise[1]
        command = self.loop.update(t, t, q, qd)
        self.queue.append(np.zeros(n) if command is None else command.effort)  # nothing is sent after a reaction
        self.plant.apply(self.queue.pop(0))
        self.plant.step()
        self.steps += 1
        return command

    def free(self, duration: float) -> Iterator[Any]:
        """Move from one random position to another."""
        centre, robot, until = np.array(self.plant.q), self.robot, 0.0
        for _ in range(round(duration / PERIOD)):
            yield self.step()
            if self.steps * PERIOD > until:
                span = 0.35 * np.minimum(1.0, robot.upper - robot.lower)
                goal = np.clip(
                    centre + self.rng.uniform(-1.0, 1.0, robot.n) * span, robot.lower + 0.01, robot.upper - 0.01
                )
                start, limits = self.loop.expected(0.0)[1].q, {"effort_limit": self.limits, "limit_ratio": 0.6}
                motion = point_to_point(self.model, start, goal, velocity_limit=0.6 * robot.velocity_limit, **limits)
                self.loop.follow(motion)
                until = self.steps * PERIOD + motion.duration + 0.2


def proposed(name: str) -> ProposedThresholds:
    """Thresholds from a minute of free motion."""
    bench = Bench(name, 1)
    rows = np.array([command.external for command in bench.free(60.0)])
    return propose_thresholds(np.arange(len(rows)) * PERIOD, rows, chance=0.01)


def thresholds_of(touch: Array, collision: Array) -> ContactThresholds:
    """Thresholds of the joints alone."""
    none = np.full(2, np.inf)
    return ContactThresholds(touch, collision, none, none, np.inf)


def false_alarms(name: str, found: ProposedThresholds, minutes: float) -> int:
    """How often free motion passes a threshold of a touch; counted without reacting."""
    bench, count, beyond = Bench(name, 2), 0, False
    for command in bench.free(60.0 * minutes):
        now = bool((np.abs(command.external[: bench.robot.n]) > found.touch).any())
        count, beyond = count + (now and not beyond), now
    return count


def collision(name: str, found: ProposedThresholds) -> dict[str, dict[str, float]]:
    """A spring in the way of the tool, which moves straight at it along its easiest direction."""
    q, link = np.array(POSES[name][0]), POSES[name][1]
    kinematics = Kinematics(robot_of(name))
    place = kinematics.pose(link, q)[:3, 3]
    jacobian = kinematics.jacobian(link, q)[:3]
    direction = np.linalg.svd(jacobian)[0][:, 0]
    distance = 0.12
    wall = Wall(link, place + distance * direction, -direction, stiffness=STIFFNESS, dissipation=0.0)
    results: dict[str, dict[str, float]] = {}
    for kind in ("touch", "collision"):
        only = thresholds_of(found.touch if kind == "touch" else found.touch + np.inf, found.collision)
        bench = Bench(name, 3, only, (wall,))
        for _ in range(300):
            bench.step()
        # Straight on at a steady speed, from rest: the reference of the joints by the damped inverse.
        t, joints, times, positions = 0.0, q.copy(), [], []
        while t < 0.6:
            t += 0.01
            velocity = SPEED * min(1.0, t / 0.2) * direction
            joints = joints + 0.01 * np.linalg.lstsq(kinematics.jacobian(link, joints)[:3], velocity, rcond=1e-3)[0]
            times.append(t)
            positions.append(joints)
        bench.loop.follow(Trajectory(times, np.array(positions)))
        touched, force_then, peak, latency = None, 0.0, 0.0, np.nan
        for _ in range(900):
            command = bench.step()
            here = kinematics.pose(link, bench.plant.q)[:3, 3]
            depth = float((here - place) @ direction) - distance
            peak = max(peak, STIFFNESS * depth)
            if depth > 0.0 and touched is None:
                touched = bench.steps
            if command is not None and command.fault is not None and np.isnan(latency):
                if touched is None:
                    raise SystemExit(f"{name}: a false alarm before the collision: {command.problem}")
                latency, force_then = (bench.steps - touched) * PERIOD * 1e3, STIFFNESS * max(depth, 0.0)
        results[kind] = {"found after [ms]": latency, "force then [N]": force_then, "peak [N]": peak}
    return results


def smallest_push(name: str, found: ProposedThresholds) -> float:
    """The least force along the tool's easiest direction that is found at rest within half a second [N]."""
    link, low, high = POSES[name][1], 0.0, 400.0
    for _ in range(9):
        force, bench = (low + high) / 2.0, Bench(name, 4)
        for _ in range(300):
            bench.step()
        kinematics = Kinematics(bench.robot)
        direction = np.linalg.svd(kinematics.jacobian(link, np.array(POSES[name][0]))[:3])[0][:, 0]
        bench.plant.outside.push(link, force * kinematics.pose(link, bench.plant.q)[:3, :3].T @ direction)
        felt = any((np.abs(bench.step().external[: bench.robot.n]) > found.touch).any() for _ in range(500))
        low, high = (low, force) if felt else (force, high)
    return high


def main() -> None:
    """Print what was found."""
    parser = options(__doc__)
    parser.add_argument("--arms", nargs="+", default=list(POSES), choices=list(POSES))
    parser.add_argument("--minutes", type=float, default=5.0, help="of free motion, in which alarms are false")
    args = parser.parse_args()
    rows = []
    for name in args.arms:
        found = proposed(name)
        rows.append(
            {
                "arm": name, "least threshold": float(found.touch.min()), "greatest": float(found.touch.max()),
                "false alarms": false_alarms(name, found, args.minutes), **collision(name, found),
                "smallest push [N]": smallest_push(name, found),
            }
        )  # fmt: skip
    title = f"A spring of {STIFFNESS / 1e3:g} N/mm at {SPEED:g} m/s; friction {100 * (MORE - 1):.0f} % unknown, "
    title += f"{DELAY} ms delay, noise, 1 kHz; forces of the spring; {args.minutes:g} minutes of free motion"
    report({title: rows}, args.json)


if __name__ == "__main__":
    main()
