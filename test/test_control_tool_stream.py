# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool in the core: limits, edges, targets that come back, sparse streams; judged by Pinocchio."""

import ctypes
import re
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import mechanism, random_robot
from industrial import urdfs
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, SafetySettings
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.motion.streams import StreamedTool, StreamSettings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.engine.c_interface import address_of
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.kinematics import so3

URDF = Path(__file__).parents[1] / "urdf"
DT = 0.004
ARMS = {
    "prr": ((URDF / "prr.urdf").read_text(), [0.6, 0.5, 0.9]),
    "eight joints": (random_robot(7, 8, branching=0.0), [0.3, -0.4, 0.5, 0.6, -0.3, 0.4, 0.2, 0.5]),
}
ARMS |= {
    name: (urdfs()[name].read_text(), q)
    for name, q in (
        ("ur5_robot", [0.3, -1.1, 1.5, 0.4, 1.2, 0.2]),
        ("panda", [0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02]),
    )
    if name in urdfs()
}
FASTEST = 3.0


class Streamed:
    """An arm that is where its reference is, and the tool that is moved, by Pinocchio."""

    def __init__(self, name: str, dt: float = DT, timeout: float = 0.1, **settings: float) -> None:
        text, q = ARMS[name]
        self.robot, self.dt = rd.load_robot(text), dt
        n = self.robot.n
        self.stream, self.tool = StreamSettings(**settings), StreamedTool.of(self.robot)
        self.limit = np.minimum(self.robot.velocity_limit, FASTEST)
        safety = SafetySettings(
            plausibility=False, following_tolerance=0.0, externally_supported=True, stream_timeout=timeout
        )
        law = ComputedTorque(rd.create_dynamics("rnea", self.robot, compiled=False), 25.0, 10.0)
        soft = Feedback(*np.zeros((2, n)))  # with these gains the rate of the states takes no time to judge
        self.loop = ControlLoop(
            law, np.full(n, 1e4), safety, velocity_limit=self.limit, tool=self.tool, stream=self.stream, feedback=soft
        )
        self.truth = Pinocchio(self.robot, (0.0, 0.0, -9.81))
        self.t, self.q, self.qd, self.effort = 1.0, np.array(q), np.zeros(n), np.zeros(n)
        self.rows: list[np.ndarray] = []
        self.states: set[str] = set()
        self.step()

    def pose(self, q: np.ndarray | None = None) -> np.ndarray:
        return self.truth.pose(self.tool.link, self.q if q is None else q)

    def jacobian(self) -> np.ndarray:
        return self.truth.jacobian(self.tool.link, self.q)

    def direction(self) -> np.ndarray:
        """A twist that the arm can do, (6,)."""
        twist = self.jacobian() @ np.linspace(1.0, -0.5, self.robot.n)
        return 0.05 * twist / np.linalg.norm(twist)

    def step(self) -> None:
        self.t += self.dt
        command = self.loop.update(self.t, self.t, self.q.copy(), self.qd.copy())
        assert command is not None
        assert command.fault is None, command.problem
        self.q, self.qd, self.qdd, self.effort = (np.array(row) for row in command.reference)
        self.rows.append(self.q)
        self.states.add(self.loop.tool_stream.state)

    def run(self, duration: float, what: str = "", numbers: np.ndarray | None = None, period: float = 0.0) -> None:
        """Stream the same for a time; once in a period."""
        due = self.t
        for _ in range(round(duration / self.dt)):
            if what and self.t >= due - 1e-9:
                self.loop.move_tool(what, numbers, self.t)
                due += period
            self.step()

    def motion(self) -> dict[str, float]:
        """The greatest of all that was: of the tool in its limits, of the joints in theirs."""
        poses = np.array([self.pose(q) for q in self.rows])
        turns = so3.log(poses[1:, :3, :3] @ poses[:-1, :3, :3].swapaxes(1, 2))
        linear, angular = np.diff(poses[:, :3, 3], axis=0) / self.dt, turns / self.dt
        found = {}
        for index, (name, rate) in enumerate((("", linear), ("turn_", angular))):
            for order in ("speed", "acceleration"):
                found[name + order] = np.linalg.norm(rate, axis=1).max() / getattr(self.stream, order)[index]
                rate = np.diff(rate, axis=0) / self.dt
        rates = np.diff(self.rows, axis=0) / self.dt
        found["joints"] = float(np.max(np.abs(rates) / self.limit))
        found["rise"] = float(np.max(np.abs(np.diff(rates, axis=0)) / self.dt / (self.limit / 0.1)))
        return found

    def check_limits(self) -> None:
        for name, ratio in self.motion().items():
            assert ratio <= (1.02 if name != "joints" else 1.0), (name, ratio)
        assert (np.array(self.rows) <= self.robot.upper).all()
        assert (np.array(self.rows) >= self.robot.lower).all()


@pytest.mark.parametrize("name", ARMS)
def test_a_twist_moves_the_tool_as_it_says_and_ends_within_the_limits(name: str) -> None:
    arm = Streamed(name, timeout=0.05, acceleration=(0.5, 2.0))
    twist = arm.direction()
    arm.run(0.04, "twist", twist)
    assert_allclose(arm.qdd, np.diff(arm.rows, n=2, axis=0)[-1] / DT**2, atol=1e-9)
    arm.run(1.0, "twist", twist)
    assert_allclose(arm.jacobian() @ arm.qd, twist, atol=3e-4)
    assert_allclose(np.diff(arm.rows[-9:], axis=0)[-1], DT * arm.qd, atol=1e-12)
    assert not arm.effort.any()
    arm.run(0.02)
    assert arm.loop.tool_stream.is_running
    arm.run(1.0)
    assert not arm.qd.any()
    assert arm.loop.mode == "hold"
    arm.check_limits()


@pytest.mark.parametrize("name", ARMS)
def test_a_pose_is_reached_without_overshoot_on_a_straight_line(name: str) -> None:
    arm = Streamed(name, speed=(0.2, 2.0))
    begin, goal = arm.pose(), arm.pose(arm.q + 0.1)
    arm.run(4.0, "pose", goal, 0.1)
    assert_allclose(arm.pose(), goal, atol=1e-4)
    places = np.array([arm.pose(q)[:3, 3] for q in arm.rows])
    line = goal[:3, 3] - begin[:3, 3]
    along = (places - begin[:3, 3]) @ line / np.linalg.norm(line)
    assert (np.diff(along) >= -1e-6).all()
    off = places - begin[:3, 3] - np.outer(along, line / np.linalg.norm(line))
    assert np.linalg.norm(off, axis=1).max() < 1e-3
    arm.check_limits()


def targets(arm: Streamed, rng: np.random.Generator) -> list[np.ndarray]:
    """A pose within reach, one beyond it, behind the base, 1 km away, and turned by π."""
    start, found = arm.pose(), []
    lower, upper = (np.clip(bound, -3.0, 3.0) for bound in (arm.robot.lower, arm.robot.upper))
    axis, way = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(2, 3)))
    for displaced, turned in ((0.6 * way, 0.3), (0.1 * way, 2.0), (1000.0 * way, 0.0), (0.1 * way, np.pi)):
        pose = start.copy()
        pose[:3, :3] = so3.exp(turned * axis) @ start[:3, :3]
        pose[:3, 3] += displaced
        found.append(pose)
    found[1][:2, 3] *= -1.0
    return [arm.pose(rng.uniform(lower, upper)), *found]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", ARMS)
def test_the_tool_comes_back_from_whatever_was_asked_and_keeps_all_limits(name: str, seed: int) -> None:
    arm = Streamed(name)
    start, posture = arm.pose(), arm.q.copy()
    for target in targets(arm, np.random.default_rng(seed)):
        arm.run(1.5, "pose", target, 0.02)
    away = np.linalg.norm(arm.pose()[:3, 3] - start[:3, 3])
    arm.run(1.5 * away / arm.stream.speed[0] + 5.0, "pose", start, 0.02)
    assert_allclose(arm.pose(), start, atol=1e-3)
    assert arm.loop.tool_stream.state == "follows"
    arm.check_limits()
    if arm.robot.n > 6 and name == "panda":  # joints to spare have their posture again
        arm.run(8.0, "pose", start, 0.02)
        assert_allclose(arm.q, posture, atol=5e-3)


@pytest.mark.parametrize("name", ARMS)
def test_an_angular_acceleration_that_the_joints_exceed_easily_is_kept_to_past_singularities(name: str) -> None:
    arm = Streamed(name, speed=(1.0, 1.5), acceleration=(3.0, 1.0))
    for target in targets(arm, np.random.default_rng(0)):
        arm.run(1.5, "pose", target, 0.02)
    arm.check_limits()


@pytest.mark.parametrize("name", [name for name in ARMS if name != "eight joints"])
@pytest.mark.parametrize("what", ["pose", "twist"])
def test_at_the_edge_of_the_workspace_the_tool_slows_down_on_its_line_stands_and_comes_back(
    name: str, what: str
) -> None:
    arm = Streamed(name, speed=(0.25, 2.0), acceleration=(2.0, 20.0))
    start = arm.pose()
    out = np.array([1.0, 0.0, 0.0]) if name == "prr" else start[:3, 3] / np.linalg.norm(start[:3, 3])
    twist, target = np.concatenate((0.1 * out, np.zeros(3))), start.copy()
    for step in range(round(8.0 / DT)):
        target[:3, 3] = start[:3, 3] + 0.1 * step * DT * out
        arm.loop.move_tool(what, target if what == "pose" else twist, arm.t)
        arm.step()
    assert arm.loop.tool_stream.state == "unreachable"
    off = arm.pose()[:3, 3] - start[:3, 3]
    assert 0.05 < off @ out < 0.75
    assert np.linalg.norm(off - (off @ out) * out) < 1e-3
    assert np.abs(arm.qd).max() < 1e-3
    arm.run(4.0, "pose", start, 0.02)
    assert_allclose(arm.pose(), start, atol=1e-3)
    arm.check_limits()


def test_a_pose_that_only_other_turns_of_the_joints_reach_is_reached_by_a_detour() -> None:
    """On its way to the other side the tool would have to go past what the arm can reach: the joints go there."""
    arm = Streamed("prr")
    goal = arm.pose(np.array([0.6, -0.5, -0.9]))
    arm.run(10.0, "pose", goal, 0.02)
    assert_allclose(arm.pose(), goal, atol=1e-3)
    assert arm.states == {"follows", "unreachable", "detour"}
    assert arm.loop.tool_stream.state == "follows"
    arm.check_limits()


def test_joints_to_spare_that_a_limit_stops_on_their_return_do_not_move_the_tool(monkeypatch) -> None:
    lower = iter((-2.5, -1.06, -0.26, -2.5))
    text = re.sub('lower="-2.5"', lambda _: f'lower="{next(lower)}"', mechanism("RRRR", lengths=[0.4, 0.35, 0.3, 0.2]))
    monkeypatch.setitem(ARMS, "four joints", (text, [0.97, -1.04, 0.41, -0.07]))
    arm = Streamed("four joints")
    goal = arm.pose(np.array([0.8, -1.05, -0.25, -0.45]))
    arm.run(2.5, "pose", goal, 0.02)
    assert_allclose(arm.pose(), goal, atol=1e-4)


def test_a_detour_takes_the_nearest_turn_of_each_joint_that_has_one(monkeypatch) -> None:
    """The first joint goes the long way around, within its limits; the second goes on over half a turn."""
    text = mechanism("RR").replace('lower="-2.5" upper="2.75"', 'lower="-3.0" upper="3.0"', 1)
    text = text.replace('name="joint2" type="revolute"', 'name="joint2" type="continuous"')
    monkeypatch.setitem(ARMS, "two joints", (text, [-2.8, 3.0]))
    arm = Streamed("two joints", speed=(2.0, 2.0), acceleration=(10.0, 10.0))
    goal = arm.pose(np.array([2.8, -2.9]))
    arm.run(8.0, "pose", goal, 0.02)
    assert "detour" in arm.states
    assert_allclose(arm.pose(), goal, atol=1e-3)
    assert np.ptp(np.array(arm.rows)[:, 1]) < 0.5


@pytest.mark.parametrize("only", ["", "lower", "upper"])
def test_the_search_for_a_detour_begins_all_over_the_range(monkeypatch, only: str) -> None:
    """For a tool that no joint moves, a search stays where it begins: each pair of joints is everywhere.

    Where there is one limit only, beyond half a turn, everywhere is the turn from there on.
    """
    limits = {"lower": (4.0, sys.float_info.max), "upper": (-sys.float_info.max, -4.0)}.get(only)
    if limits is not None:
        limit = 'lower="{}" upper="{}"'.format(*limits)
        text = re.sub('lower="[^"]*" upper="[^"]*"', limit, ARMS["prr"][0])
        monkeypatch.setitem(ARMS, "prr", (text, [4.1 if only == "lower" else -4.1] * 3))
    arm, numbers = Streamed("prr"), ctypes.POINTER(ctypes.c_double)
    lower = np.where(only == "upper", arm.robot.upper - 2.0 * np.pi, arm.robot.lower)
    upper = np.where(only == "lower", arm.robot.lower + 2.0 * np.pi, arm.robot.upper)

    @ctypes.CFUNCTYPE(None, numbers, numbers, numbers, numbers)
    def tool(_q: Any, _parameters: Any, pose: Any, jacobian: Any) -> None:
        np.ctypeslib.as_array(pose, (4, 4))[:] = np.eye(4)
        np.ctypeslib.as_array(jacobian, (6, arm.robot.n))[:] = 0.0

    arm.loop.core_settings.record.fields.tool[...] = address_of(tool)
    far, seeds = np.eye(4), dict[int, np.ndarray]()
    far[:3, 3] = 1.0
    for _ in range(2500):
        arm.loop.move_tool("pose", far, arm.t)
        arm.step()
        found = arm.loop.memory().tool
        seeds[int(found.seeds)] = found.guess.copy()
    at = (np.array([seeds[k] for k in range(3, 59)]) - lower) / (upper - lower)
    for one, other in combinations((4.0 * at.T).astype(int), 2):
        assert len(set(zip(one.tolist(), other.tolist(), strict=True))) >= 15  # of 4 x 4 parts


@pytest.mark.parametrize(
    ("asked", "settings", "reached"),
    [
        (1.0, {"speed": (2.0, 0.4), "acceleration": (3.0, 8.0)}, 0.4),
        (0.24, {"acceleration": (0.1, 8.0)}, 0.24),  # on its circle of 0.5 m it needs 0.3 · 0.1 m/s² across
    ],
    ids=["turns too fast", "curved"],
)
def test_a_tool_that_turns_as_it_moves_is_as_fast_as_both_limits_let_it(monkeypatch, asked, settings, reached) -> None:
    """A single joint: what the limit of angular speed leaves of a twist is reached within the limits of jerk."""
    monkeypatch.setitem(ARMS, "one joint", (mechanism("R", lengths=[0.5]), [-0.5]))
    arm = Streamed("one joint", **settings)
    for _ in range(150):
        x, _, z = arm.pose()[:3, 3]
        arm.run(0.02, "twist", asked * np.array([z, 0.0, -x, 0.0, 1.0, 0.0]), 0.02)
    assert_allclose(arm.qd, reached, rtol=0.01)
    jerk = np.abs(np.diff(arm.rows, n=3, axis=0)).max() / arm.dt**3
    limit = np.array(arm.stream.acceleration) / 0.025  # the limit of acceleration is reached in 25 ms
    assert jerk < 1.4 * min(limit[0] / 0.5, limit[1])  # on the circle that a tenth of the acceleration bends, 1.32


@pytest.mark.parametrize(
    ("spoilt", "row", "most", "rate"),
    [
        pytest.param(*kind, rate, id=f"{name}-{rate:g}", marks=[] if rate in soon else pytest.mark.thorough)
        for name, kind, soon in (
            ("even", (False, 0, 1.25), (10.0, 100.0)),
            ("jitter and loss", (True, 0, 2.0), (10.0, 30.0)),
            ("two lost in a row", (False, 2, 2.0), (30.0,)),
            ("three lost in a row", (False, 3, 3.0), (100.0,)),
        )
        for rate in (10.0, 30.0, 100.0)
    ],
)
def test_a_circle_from_a_sparse_stream_is_smooth(spoilt: bool, row: int, most: float, rate: float) -> None:
    """0.15 m/s, with 20 % jitter of a period and 5 % loss (twice the centripetal acceleration may be needed).

    ``make test TEST="test/test_control_tool_stream.py -s"`` prints the figures.
    """
    name = "ur5_robot" if "ur5_robot" in ARMS else "prr"
    arm, radius, speed = Streamed(name, dt=2e-3), 0.0978, 0.15
    start, begin, rng = arm.pose(), arm.t, np.random.default_rng(3)
    plane = [0, 2] if name == "prr" else [0, 1]

    def circle(t: float) -> np.ndarray:
        angle, pose = speed / radius * (t - 0.5 if t > 1.0 else t * t / 2.0), start.copy()
        pose[plane, 3] += radius * np.array([np.sin(angle), 1.0 - np.cos(angle)])
        return pose

    stamps = np.arange(0.0, 10.0, 1.0 / rate)
    stamps = stamps[rng.random(len(stamps)) >= 0.05 * spoilt]
    lost = round(6.0 * rate)
    stamps = np.delete(stamps, slice(lost, lost + row))
    arrivals = sorted(zip(stamps + 0.2 / rate * rng.random(len(stamps)) * spoilt, stamps, strict=True), reverse=True)
    while arm.t < begin + 9.5:
        while arrivals and arrivals[-1][0] <= arm.t - begin:
            _, stamp = arrivals.pop()
            arm.loop.move_tool("pose", circle(stamp), arm.t, begin + stamp)
        arm.step()
    places = np.array([arm.pose(q)[:3, 3] for q in arm.rows])
    delay = arm.loop.tool_stream.delay
    assert 1.0 / rate <= delay <= (1.0 + 0.5 * spoilt) / rate + 3.0 * arm.dt
    late = slice(round(4.0 / arm.dt), None)
    times = arm.dt * np.arange(len(places))
    away = places - np.array([circle(t - delay)[:3, 3] for t in times])
    rms = np.sqrt((away[late] ** 2).sum(1).mean())
    ratio = np.linalg.norm(np.diff(places, 2, axis=0)[late], axis=1).max() / arm.dt**2 * radius / speed**2
    print(f"{rate:g} Hz: delay {1e3 * delay:.0f} ms, RMS error {1e3 * rms:.2f} mm, acceleration {ratio:.2f}")
    assert rms < ((2e-3 if row else 1e-3) if rate < 25.0 else 5e-4)
    assert ratio <= most * 1.05


@pytest.mark.parametrize("rate", [1000.0, 250.0])
def test_the_noise_of_a_quick_stream_is_not_divided_by_its_period(rate: float) -> None:
    """0.1 mm of noise moves the tool as fast as that of messages every 20 ms does; by its period 9 mm/s (RMS)."""
    arm, rng = Streamed("prr", dt=1.0 / rate), np.random.default_rng(2)
    pose = arm.pose()
    for _ in range(round(2.0 * rate)):
        noisy = pose.copy()
        noisy[[0, 2], 3] += 1e-4 * rng.uniform(-1.0, 1.0, 2)
        arm.loop.move_tool("pose", noisy, arm.t)
        arm.step()
    speed = np.linalg.norm(np.diff([arm.pose(q)[:3, 3] for q in arm.rows], axis=0), axis=1) / arm.dt
    assert np.sqrt((speed**2).mean()) < 7e-3
    assert speed[: round(0.1 * rate)].max() < 0.012  # at its beginning, too


@pytest.mark.parametrize("steps", [25, 2])
def test_a_tool_that_turns_follows_its_stream_with_the_delay_of_a_period(steps: int) -> None:
    arm, rate = Streamed("prr", dt=2e-3), np.array([0.02, 0.15, 0.4])
    begin, q = arm.t, arm.q
    for step in range(1000):
        if step % steps == 0:
            arm.loop.move_tool("pose", arm.pose(q + rate * (arm.t - begin)), arm.t)
        arm.step()
    delay = arm.loop.tool_stream.delay
    assert delay == pytest.approx(steps * arm.dt)
    assert_allclose(arm.q, q + rate * (arm.t - begin - delay), atol=2e-3)


def test_the_delay_of_the_target_is_the_period_the_mean_latency_and_twice_its_deviation() -> None:
    """The latency may be longer than the period; a new stream is measured anew."""
    arm = Streamed("prr", dt=2e-3)
    pose = arm.pose()

    def stream(latencies: Sequence[float]) -> float:
        begin = arm.t
        for index, latency in enumerate(latencies):
            arm.run(begin + 0.01 * index + latency - arm.t)
            arm.loop.move_tool("pose", pose, arm.t, begin + 0.01 * index)
        return arm.loop.tool_stream.delay

    assert stream([0.03] * 3) == pytest.approx(0.04)
    assert stream([0.028, 0.032] * 400) == pytest.approx(0.01 + 0.03 + 2 * 0.002, abs=1e-4)
    arm.run(0.4)
    assert stream([0.0] * 3) == pytest.approx(0.01)


def test_a_pose_that_was_overtaken_changes_nothing() -> None:
    """A pose with the stamp of another one, or up to 0.35 s older; one that is still older begins a new stream."""
    moved = []
    for older in ((), (0.0, 0.02, 0.34), (0.36,)):
        arm = Streamed("prr")
        pose, false = arm.pose(), arm.pose(arm.q + 0.05)
        for step in range(100):
            if step % 10 == 0:
                arm.loop.move_tool("pose", pose, arm.t, arm.t - 0.01)
                for age in older if step == 90 else ():
                    arm.loop.move_tool("pose", false, arm.t, arm.t - 0.01 - age)
            pose[0, 3] += 0.1 * DT
            arm.step()
        moved.append(arm.q)
    assert_allclose(moved[1], moved[0], rtol=1e-12)
    assert np.abs(moved[2] - moved[0]).max() > 1e-3


def test_a_stream_that_ends_in_motion_comes_to_rest_a_little_further() -> None:
    arm = Streamed("prr")
    pose, speed = arm.pose(), 0.1
    for step in range(500):
        if step % 10 == 0:
            arm.loop.move_tool("pose", pose, arm.t)
        pose[0, 3] += speed * DT
        arm.step()
    arm.run(1.0)
    further = arm.pose()[0, 3] - pose[0, 3]
    assert 0.0 < further < speed * 0.2
    assert not arm.qd.any()
    arm.check_limits()


@pytest.mark.parametrize("way", [0.4, -0.4])
def test_position_limits_are_never_passed(way: float) -> None:
    arm = Streamed("prr")
    arm.run(6.0, "twist", np.array([0.0, 0.0, way, 0.0, 0.0, 0.0]), 0.02)
    near = np.minimum(np.abs(arm.q - arm.robot.upper), np.abs(arm.q - arm.robot.lower))
    assert near.min() < 0.01
    arm.check_limits()


def test_a_joint_that_rests_at_its_limit_does_not_keep_the_tool_from_a_way_along_another_joint(monkeypatch) -> None:
    """Two rails at right angles."""
    text = '"0.0 1.0 0.0"'.join(mechanism("PP").rsplit('"0.0 0.0 1.0"', 1))
    for limit in (-2.5, 2.75):
        monkeypatch.setitem(ARMS, "two rails", (text, [limit, 0.5]))
        arm = Streamed("two rails")
        arm.run(1.0, "twist", np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0]), 0.02)
        assert_allclose(arm.qd, [0.0, 0.1], atol=1e-4)


def test_a_wrench_is_an_effort_of_the_joints_and_fades_when_the_stream_ends() -> None:
    arm = Streamed("eight joints")
    wrench = np.array([3.0, -2.0, 5.0, 0.2, -0.1, 0.3])
    arm.run(0.02, "wrench", wrench)
    assert_allclose(arm.effort, (1.0 - np.exp(-1.0)) * arm.jacobian().T @ wrench)
    arm.run(0.3, "wrench", wrench)
    assert_allclose(arm.effort, arm.jacobian().T @ wrench, rtol=1e-5)
    assert not arm.qd.any()
    arm.run(0.12)
    fading = arm.effort
    arm.step()
    assert fading.any()
    assert_allclose(arm.effort, np.exp(-DT / 0.02) * fading)
    arm.run(0.5)
    assert not arm.effort.any()
    assert arm.loop.mode == "hold"


def test_a_stream_that_begins_in_motion_goes_on_from_it() -> None:
    arm = Streamed("prr")
    rate, still = np.array([0.1, -0.2, 0.15]), np.zeros(3)
    arm.loop.track(Reference(arm.q, rate, still, still), arm.t)
    arm.step()
    arm.loop.move_tool("twist", arm.jacobian() @ rate, arm.t)
    arm.step()
    assert_allclose(arm.qd, rate, rtol=1e-2)


def test_a_column_of_a_matrix_is_a_twist() -> None:
    arms = [Streamed("prr") for _ in range(2)]
    twist = arms[0].direction()
    for arm, given in zip(arms, (twist, np.column_stack((twist, -twist))[:, 0]), strict=True):
        arm.run(0.2, "twist", given)
    assert_allclose(arms[1].qd, arms[0].qd)


def test_settings_without_the_tool_that_a_stream_moves_end_the_stream() -> None:
    arm = Streamed("prr")
    arm.run(0.2, "twist", arm.direction())
    arm.loop.apply(arm.loop.settings._replace(tool=None))
    arm.step()
    assert arm.loop.mode == "hold"
    assert not arm.loop.tool_stream.is_running


@pytest.mark.parametrize("what", ["joints", "pose", "twist", "wrench"])
def test_a_message_of_a_running_stream_ends_a_trajectory_that_waits(what: str) -> None:
    """The newest request counts. That a stream of joints is silent is none."""
    arm = Streamed("prr", timeout=0.3)
    numbers = arm.pose() if what == "pose" else np.zeros(6)

    def message() -> None:
        if what == "joints":
            arm.loop.track(Reference(arm.q, *np.zeros((3, 3))), arm.t)
        else:
            arm.loop.move_tool(what, numbers, arm.t)

    for more, outcome in ((True, "replaced"), (False, "succeeded")):
        message()
        arm.step()
        goal = arm.loop.follow(Trajectory([0.5], [arm.q + 0.05]), arm.t + 0.1)
        arm.step()
        arm.loop.stand_still()
        assert goal.outcome is None
        if more:
            message()
            assert goal.outcome == outcome
        arm.run(1.0)
        assert goal.outcome == outcome
    assert_allclose(arm.q, np.array(ARMS["prr"][1]) + 0.05, atol=1e-6)


def test_what_is_no_twist_is_refused() -> None:
    arm = Streamed("prr")
    mirrored, stretched = np.diag([-1.0, 1.0, 1.0, 1.0]), np.diag([2.0, 2.0, 2.0, 1.0])
    poses = (("pose", pose) for pose in (np.zeros(6), np.zeros((4, 4)), mirrored, stretched))
    for what, numbers in (("twist", [0.0, np.nan]), ("wrench", np.full(6, np.nan)), *poses):
        with pytest.raises(InputError, match="target: .*rotation" if what == "pose" else what):
            arm.loop.move_tool(what, numbers, arm.t)
    with pytest.raises(ConfigurationError, match="speed"):
        StreamSettings(speed=(-0.1, 2.0))
    arm.loop.apply(arm.loop.settings._replace(tool=None))
    with pytest.raises(InputError, match="name no tool"):
        arm.loop.move_tool("twist", np.zeros(6), arm.t)


@pytest.mark.parametrize(
    "turn", [(2.9, 0.1, -0.2), (0.1, 2.9, 0.2), (-0.2, 0.1, 2.9), (-2.8, -0.4, 0.3), (0.3, -0.2, 0.1), (0, 0, 0)]
)
@pytest.mark.parametrize("before", [0.0, 0.2])
def test_the_angle_to_a_target_is_right_however_far_it_is_turned(turn: tuple[float, ...], before: float) -> None:
    """A pose that jumps, by its angle or by its position alone, is the target at once, also within a stream."""
    arm, shift = Streamed("eight joints"), 0.0 if any(turn) else 0.3
    target = arm.pose()
    arm.run(before, "pose", target, 0.02)
    target[:3, :3] = so3.exp(np.array(turn)) @ target[:3, :3]
    target[0, 3] += shift
    arm.run(arm.dt, "pose", target)
    assert_allclose(arm.loop.tool_stream.angle, np.linalg.norm(turn), rtol=0.0, atol=1e-3)
    assert_allclose(arm.loop.tool_stream.distance, shift, atol=1e-3)
