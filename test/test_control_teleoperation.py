# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two arms that are coupled over a network with delay, jitter and losses: passive whatever the network does."""

import numpy as np
import pytest
from arms import PRR, random_robot

import robodyn_ros as rd
from robodyn_ros.control.motion import teleoperation
from robodyn_ros.control.motion.teleoperation import (
    FollowerPort,
    JointCoupling,
    LeaderPort,
    PortMessage,
    TeleoperationSettings,
    ToolCoupling,
)
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot.robot import tip

PERIOD = 0.002
LEADER, FOLLOWER = np.array([1.0, 0.02]), np.array([1.5, 0.05])  # inertia of an axis that slides and of one that turns
STIFFNESS, DAMPING = np.array([600.0, 15.0]), np.array([40.0, 0.7])
WALL, PLACE = np.array([4000.0, 60.0]), 0.15


class Network:
    """Carries messages with a delay; some overtake each other, and some are lost."""

    def __init__(self, delay: float, jitter: float, loss: float, seed: int) -> None:
        self._delay, self._jitter, self._loss = delay, jitter, loss
        self._rng, self._under_way, self._latest = np.random.default_rng(seed), [], None

    def send(self, t: float, number: int, message) -> None:
        if self._rng.random() >= self._loss:
            self._under_way.append((t + self._delay + self._jitter * self._rng.random(), number, message))

    def receive(self, t: float):
        """The newest message that has come; one that was overtaken counts no more."""
        come = [item for item in self._under_way if item[0] <= t]
        self._under_way = [item for item in self._under_way if item[0] > t]
        for _, number, message in come:
            if self._latest is None or number > self._latest[0]:
                self._latest = number, message
        return None if self._latest is None else self._latest[1]


def unaccounted(message: PortMessage) -> PortMessage:
    """A message of an end where any amount of energy has entered: the other end has nothing to dissipate."""
    return message._replace(entered=np.full_like(message.entered, 1e200))


def coupled(settings, delay=0.0, jitter=0.0, loss=0.0, duration=10.0, hand=0.3, seed=3, passive=True):
    """A hand pulls the leader to a place beyond the follower's wall; rows of q of both and the leader's effort.

    Also the energy that the network has taken in and not given back, at each instant [J].
    """
    leader = LeaderPort(JointCoupling(LEADER), np.full(2, 1e3), settings)
    follower = FollowerPort(JointCoupling(FOLLOWER), np.zeros(2), np.full(2, 5.0))
    come = (lambda message: message) if passive else (lambda message: message and unaccounted(message))
    there, back = Network(delay, jitter, loss, seed), Network(delay, jitter, loss, seed + 1)
    ql, vl, qf, vf, reference, rate = np.zeros((6, 2))
    kept, felt, rows, energies = np.zeros(2), np.zeros(2), [], []
    for k in range(round(duration / PERIOD)):
        t = k * PERIOD
        pull = 80.0 * LEADER * (hand * min(1.0, t) - ql) - 8.0 * LEADER * vl
        force = STIFFNESS * (reference - qf) + DAMPING * (rate - vf)
        kept = kept - PERIOD * force * rate
        reference, rate = follower.update(PERIOD, force, come(there.receive(t)))
        before, felt = felt, leader.update(PERIOD, ql, vl, come(back.receive(t)))
        there.send(t, k, leader.message(ql, vl))
        back.send(t, k, follower.message(force))
        speed = vl
        vl = vl + PERIOD * (pull + felt) / LEADER
        kept = kept - PERIOD * felt * (speed + vl) / 2.0 / max(settings.force_ratio, 1e-9)
        ql = ql + PERIOD * vl
        vf = vf + PERIOD * (force - WALL * np.maximum(qf - PLACE, 0.0)) / FOLLOWER
        qf = qf + PERIOD * vf
        rows.append((ql, qf, before))
        energies.append(kept)
    return np.array(rows), np.array(energies)


NETWORKS = {
    "none": {},
    "100 ms": {"delay": 0.1},
    "300 ms": {"delay": 0.3},
    "losses": {"delay": 0.1, "loss": 0.5},
    "all": {"delay": 0.2, "jitter": 0.1, "loss": 0.3},
}


@pytest.mark.parametrize("name", ["300 ms", "all"])
def test_the_network_is_passive_and_both_arms_come_to_rest(name: str) -> None:
    settings = TeleoperationSettings(force_ratio=1.0, greatest_effort=1.0)
    rows, energies = coupled(settings, **NETWORKS[name])
    assert energies.min() > -1.0  # the account is a period behind; without it hundreds of joules come out
    late = rows[-500:]
    assert np.ptp(late, axis=0).max() < 1e-3 * max(1.0, np.abs(late).max())
    assert (late[-1, 1] < PLACE + 0.02).all() and (late[-1, 1] > 0.9 * PLACE).all()  # it leans against the wall
    assert (late[-1, 2] < 0.0).all()  # and the hand feels that


def test_without_the_account_a_delay_shakes_the_arms() -> None:
    settings = TeleoperationSettings(force_ratio=1.0, greatest_effort=1.0)
    rows, energies = coupled(settings, **NETWORKS["100 ms"], duration=6.0, passive=False)
    assert energies.min() < -100.0
    assert np.ptp(rows[-500:, 0], axis=0).max() > 0.1


def test_in_free_space_the_follower_goes_where_the_leader_goes() -> None:
    for name in ("none", "losses"):
        rows, _ = coupled(TeleoperationSettings(force_ratio=0.3), **NETWORKS[name], duration=6.0, hand=0.12)
        np.testing.assert_allclose(rows[-1, 1], rows[-1, 0], atol=0.015)
        np.testing.assert_allclose(rows[-1, 0], 0.12, atol=0.02)


def test_without_force_feedback_the_hand_feels_nothing() -> None:
    rows, _ = coupled(TeleoperationSettings(force_ratio=0.0), delay=0.05, duration=4.0)
    assert not rows[:, 2].any()
    assert rows[-1, 1] == pytest.approx([PLACE, PLACE], abs=0.05)


def test_efforts_and_speeds_are_limited() -> None:
    settings = TeleoperationSettings(force_ratio=10.0, greatest_effort=0.1)
    leader = LeaderPort(JointCoupling(LEADER), [20.0, 3.0], settings)
    follower = FollowerPort(JointCoupling(FOLLOWER), np.zeros(2), [0.5, 0.7])
    far = leader.message([5.0, 5.0], [9.0, -9.0])
    follower.update(PERIOD, np.zeros(2), leader.message(np.zeros(2), np.zeros(2)))
    _, speed = follower.update(PERIOD, np.zeros(2), far)
    assert (np.abs(speed) <= [0.5, 0.7]).all() and np.abs(speed).max() > 0.1
    effort = leader.update(PERIOD, np.zeros(2), np.zeros(2), follower.message([1e4, -1e4]))
    np.testing.assert_allclose(np.abs(effort), [2.0, 0.3])


def test_without_a_greatest_effort_nothing_is_felt_also_at_joints_without_an_effort_limit() -> None:
    port = LeaderPort(JointCoupling(np.ones(2)), [np.inf, 5.0], TeleoperationSettings(greatest_effort=0.0))
    felt = PortMessage(np.ones(2), np.ones(2), np.zeros(2))
    np.testing.assert_array_equal(port.update(0.01, np.zeros(2), np.ones(2), felt), np.zeros(2))


def test_what_is_not_finite_is_refused() -> None:
    settings = TeleoperationSettings()
    joints = JointCoupling(LEADER)
    leader, follower = LeaderPort(joints, [1.0, 1.0], settings), FollowerPort(joints, [0, 0], [1, 1])
    with pytest.raises(InputError, match="qd"):
        leader.update(PERIOD, np.zeros(2), [np.nan, 0.0], None)
    with pytest.raises(InputError, match="effort"):
        follower.update(PERIOD, [0.0], None)
    with pytest.raises(InputError, match="velocity_limit: must be 2 numbers above 0"):
        FollowerPort(joints, np.zeros(2), [1.0, 0.0])


def test_the_reference_of_the_follower_stays_within_its_position_limits() -> None:
    settings, joints = TeleoperationSettings(), JointCoupling(FOLLOWER)
    leader = LeaderPort(joints, [1.0, 1.0], settings)
    follower = FollowerPort(joints, np.zeros(2), [9.0, 9.0], ([-0.2, -0.1], [0.3, 0.4]))
    follower.update(PERIOD, np.zeros(2), leader.message(np.zeros(2), np.zeros(2)))
    for end in ([0.3, -0.1], [-0.2, 0.4]):
        goal = 3.0 * np.array(end)
        for _ in range(2000):
            q, qd = follower.update(PERIOD, np.zeros(2), unaccounted(leader.message(goal, np.zeros(2))))
        np.testing.assert_allclose(q, end)
        np.testing.assert_allclose(qd, 0.0, atol=1e-12)


def test_the_account_has_the_energy_of_force_and_way_at_each_end() -> None:
    joints, still, effort = JointCoupling(FOLLOWER), np.zeros(2), np.array([3.0, -2.0])
    before, after = np.array([0.2, 0.3]), np.array([-0.1, 0.5])
    follower = FollowerPort(joints, still, [9.0, 9.0])
    leader = LeaderPort(joints, [99.0, 99.0], TeleoperationSettings(force_ratio=0.5))
    for force in (still, effort):
        follower.update(PERIOD, force, unaccounted(PortMessage(still, still, before)))
    for qd in (before, after):
        leader.update(PERIOD, still, qd, unaccounted(PortMessage(still, effort, still)))
    for port, energy in ((follower.port, -effort * before), (leader.port, 0.5 * effort * (before + after) / 2.0)):
        np.testing.assert_allclose(port.entered - port.left, PERIOD * energy)


# Tool by tool


def arm_of(text: str):
    return rd.create_dynamics("rnea", rd.load_robot(text), gravity=(0.0, 0.0, 0.0), compiled=False)


TOOL_PERIOD = 0.004
SIX = [0.4, -0.7, 0.9, 0.3, 0.8, -0.5]
EIGHT = [0.3, -0.4, 0.5, 0.6, -0.3, 0.4, 0.2, 0.5]


def test_a_tool_leads_the_tool_of_another_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six joints lead eight: the same way of the tool from where it began, in translation and rotation."""
    first, second = arm_of(random_robot(11, 6, branching=0.0)), arm_of(random_robot(7, 8, branching=0.0))
    monkeypatch.setattr(teleoperation, "RETURN_RATE", 5.0)
    settings = TeleoperationSettings()
    tools = ToolCoupling(first), ToolCoupling(second)
    leader = LeaderPort(tools[0], np.full(6, np.inf), settings)
    follower = FollowerPort(tools[1], EIGHT, np.full(8, np.inf))
    q = np.array(SIX)
    begin = [Kinematics(arm.robot).pose(tip(arm.robot), at) for arm, at in ((first, SIX), (second, EIGHT))]
    for k in range(500):
        qd = 0.3 * np.sin(np.pi * k * TOOL_PERIOD / 2.0) * np.array([0.5, -1.0, 0.8, 0.6, -0.4, 1.0])
        q = q + TOOL_PERIOD * qd
        reached, _ = follower.update(TOOL_PERIOD, np.zeros(8), leader.message(q, qd))
    for _ in range(400):
        reached, _ = follower.update(TOOL_PERIOD, np.zeros(8), leader.message(q, 0.0 * q))
    led, follows = (Kinematics(arm.robot).pose(tip(arm.robot), at) for arm, at in ((first, q), (second, reached)))
    np.testing.assert_allclose(follows[:3, 3] - begin[1][:3, 3], led[:3, 3] - begin[0][:3, 3], atol=1e-3)
    np.testing.assert_allclose(follows[:3, :3] @ begin[1][:3, :3].T, led[:3, :3] @ begin[0][:3, :3].T, atol=2e-3)
    assert np.abs(led - begin[0]).max() > 0.1


def test_a_push_on_the_tool_of_the_follower_is_felt_at_the_tool_of_the_leader() -> None:
    """Whatever the null space of the follower does; and the power is the same at both ends."""
    first, second = arm_of(random_robot(11, 6, branching=0.0)), arm_of(random_robot(7, 8, branching=0.0))
    settings = TeleoperationSettings(force_ratio=1.0)
    leader = LeaderPort(ToolCoupling(first), np.full(6, np.inf), settings)
    follower = FollowerPort(ToolCoupling(second), EIGHT, np.full(8, np.inf))
    q, qd, wrench = np.array(SIX), np.linspace(-0.2, 0.3, 6), np.array([4.0, -3.0, 6.0, 0.5, -0.7, 0.2])
    jacobians = [Kinematics(arm.robot).jacobian(tip(arm.robot), at) for arm, at in ((first, q), (second, EIGHT))]
    moves = jacobians[1] @ np.linalg.inv(second.mass_matrix(EIGHT))
    null = np.eye(8) - np.linalg.pinv(moves) @ moves  # efforts that do not accelerate the tool
    efforts = jacobians[1].T @ wrench + null @ np.linspace(-5.0, 5.0, 8)
    told = leader.message(q, qd)
    _, rate = follower.update(1e-9, efforts, unaccounted(told))
    felt = leader.update(1e-9, q, qd, unaccounted(follower.message(efforts)))
    np.testing.assert_allclose(felt, -jacobians[0].T @ wrench, atol=1e-8)
    np.testing.assert_allclose(felt @ qd, -efforts @ rate, atol=1e-8)


def test_an_arm_without_some_directions_follows_in_the_others() -> None:
    first, second = arm_of(random_robot(11, 6, branching=0.0)), arm_of(PRR)
    settings, pose, tools = (
        TeleoperationSettings(),
        np.array([0.6, 0.5, 0.9]),
        (ToolCoupling(first), ToolCoupling(second)),
    )
    leader = LeaderPort(tools[0], np.full(6, np.inf), settings)
    follower = FollowerPort(tools[1], pose, np.full(3, np.inf))
    q, qd = np.array(SIX), np.linspace(0.2, -0.3, 6)
    leads, follows = (Kinematics(arm.robot).jacobian(tip(arm.robot), at) for arm, at in ((first, q), (second, pose)))
    _, rate = follower.update(1e-9, np.zeros(3), unaccounted(leader.message(q, qd)))
    np.testing.assert_allclose((follows @ rate)[[0, 2, 4]], (leads @ qd)[[0, 2, 4]], atol=1e-9)
    wrench = np.array([3.0, 0.0, 5.0, 0.0, -0.4, 0.0])
    felt = leader.update(PERIOD, q, qd, unaccounted(follower.message(follows.T @ wrench)))
    np.testing.assert_allclose(felt, -settings.force_ratio * leads.T @ wrench, atol=1e-9)
    mobility = np.diagonal(follows @ np.linalg.inv(second.mass_matrix(pose)) @ follows.T)
    inertia = np.divide(1.0, mobility, where=mobility > 1e-9, out=np.zeros(6))
    np.testing.assert_allclose(tools[1].inertia(pose), inertia)
    assert inertia.nonzero()[0].tolist() == [0, 2, 4]
