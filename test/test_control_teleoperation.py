"""Two arms that are coupled over a network with delay, jitter and losses: passive whatever the network does."""

from __future__ import annotations

import numpy as np
import pytest

from robodyn_ros.control.motion.teleoperation import FollowerPort, LeaderPort, TeleoperationSettings
from robodyn_ros.errors import InputError

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


def coupled(settings, delay=0.0, jitter=0.0, loss=0.0, duration=10.0, hand=0.3, seed=3):
    """A hand pulls the leader to a place beyond the follower's wall; rows of q of both and the leader's effort.

    Also the energy that the network has taken in and not given back, at each instant [J].
    """
    leader = LeaderPort(LEADER, np.full(2, 1e3), settings)
    follower = FollowerPort(np.zeros(2), settings, np.full(2, 5.0))
    there, back = Network(delay, jitter, loss, seed), Network(delay, jitter, loss, seed + 1)
    ql, vl, qf, vf, reference, rate = np.zeros((6, 2))
    kept, felt, rows, energies = np.zeros(2), np.zeros(2), [], []
    for k in range(round(duration / PERIOD)):
        t = k * PERIOD
        pull = 80.0 * LEADER * (hand * min(1.0, t) - ql) - 8.0 * LEADER * vl
        force = STIFFNESS * (reference - qf) + DAMPING * (rate - vf)
        kept = kept - PERIOD * force * rate
        reference, rate = follower.update(PERIOD, force, there.receive(t))
        before, felt = felt, leader.update(PERIOD, vl, back.receive(t))
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
    "20 ms": {"delay": 0.02},
    "100 ms": {"delay": 0.1},
    "300 ms": {"delay": 0.3},
    "jitter": {"delay": 0.05, "jitter": 0.05},
    "losses": {"delay": 0.1, "loss": 0.5},
    "all": {"delay": 0.2, "jitter": 0.1, "loss": 0.3},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_network_is_passive_and_both_arms_come_to_rest(name: str) -> None:
    settings = TeleoperationSettings(force_ratio=1.0, greatest_effort=1.0)
    rows, energies = coupled(settings, **NETWORKS[name])
    assert energies.min() > -1.0  # the account is a period behind; without it hundreds of joules come out
    late = rows[-500:]
    assert np.ptp(late, axis=0).max() < 1e-3 * max(1.0, np.abs(late).max())
    assert (late[-1, 1] < PLACE + 0.02).all() and (late[-1, 1] > 0.9 * PLACE).all()  # it leans against the wall
    assert (late[-1, 2] < 0.0).all()  # and the hand feels that


@pytest.mark.parametrize("name", ["100 ms", "300 ms", "all"])
def test_without_the_account_a_delay_shakes_the_arms(name: str) -> None:
    settings = TeleoperationSettings(force_ratio=1.0, greatest_effort=1.0, passivity=False)
    rows, energies = coupled(settings, **NETWORKS[name], duration=6.0)
    assert energies.min() < -100.0
    assert np.ptp(rows[-500:, 0], axis=0).max() > 0.1


def test_in_free_space_the_follower_goes_where_the_leader_goes() -> None:
    for name in ("none", "100 ms", "losses"):
        rows, _ = coupled(TeleoperationSettings(force_ratio=0.3), **NETWORKS[name], hand=0.12)
        np.testing.assert_allclose(rows[-1, 1], rows[-1, 0], atol=0.015)
        np.testing.assert_allclose(rows[-1, 0], 0.12, atol=0.02)


def test_without_force_feedback_the_hand_feels_nothing() -> None:
    rows, _ = coupled(TeleoperationSettings(force_ratio=0.0), delay=0.05, duration=4.0)
    assert not rows[:, 2].any()
    assert rows[-1, 1] == pytest.approx([PLACE, PLACE], abs=0.05)


def test_efforts_and_speeds_are_limited() -> None:
    settings = TeleoperationSettings(force_ratio=10.0, greatest_effort=0.1)
    leader = LeaderPort(LEADER, [20.0, 3.0], settings)
    follower = FollowerPort(np.zeros(2), settings, [0.5, 0.7])
    far = leader.message([5.0, 5.0], [9.0, -9.0])
    follower.update(PERIOD, np.zeros(2), leader.message(np.zeros(2), np.zeros(2)))
    _, speed = follower.update(PERIOD, np.zeros(2), far)
    assert (np.abs(speed) <= [0.5, 0.7]).all() and np.abs(speed).max() > 0.1
    effort = leader.update(PERIOD, np.zeros(2), follower.message([1e4, -1e4]))
    np.testing.assert_allclose(np.abs(effort), [2.0, 0.3])


def test_what_is_not_finite_is_refused() -> None:
    settings = TeleoperationSettings()
    leader, follower = LeaderPort(LEADER, [1.0, 1.0], settings), FollowerPort(np.zeros(2), settings, [1.0, 1.0])
    with pytest.raises(InputError, match="qd"):
        leader.update(PERIOD, [np.nan, 0.0], None)
    with pytest.raises(InputError, match="effort"):
        follower.update(PERIOD, [0.0], None)
    with pytest.raises(InputError, match="velocity_limit: must be 2 numbers above 0"):
        FollowerPort(np.zeros(2), settings, [1.0, 0.0])
