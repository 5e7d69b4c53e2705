# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Demonstrations: recorded motions become trajectories that stay near them and within the limits."""

import json
from pathlib import Path

import numpy as np
import pytest
from arms import joint, link, losses, robot, slider
from numpy.testing import assert_allclose
from planned import curve

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.errors import InputError
from robodyn_ros.planning.demonstration import DemonstrationSettings, demonstration

PRR = rd.load_robot("prr")
DYNAMICS = rd.create_dynamics("rnea", PRR, compiled=False)
RATE = 200.0


def shown(duration: float = 6.0, noise: float = 0.0, rest: float = 1.0, speed: float = 1.0, seed: int = 5):
    """Times and positions of somebody who rests, leads the arm along a smooth curve, and rests again."""
    t = np.arange(0.0, duration + 2.0 * rest, 1.0 / RATE)
    s = np.clip((t - rest) / duration, 0.0, 1.0)
    u = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    q = np.column_stack(
        (
            0.4 + 0.2 * np.sin(2 * np.pi * speed * u),
            0.3 + 0.8 * u + 0.2 * np.sin(6 * np.pi * u),
            -0.5 + 0.9 * np.sin(4 * np.pi * u),
        )
    )
    return t + 1000.0, q + np.random.default_rng(seed).normal(0.0, noise, q.shape)


def test_few_points_stay_within_the_tolerance_of_what_was_shown() -> None:
    t, q = shown()
    for tolerance in (0.02, 0.002, 0.0005):
        made = demonstration(DYNAMICS, t, q, DemonstrationSettings(tolerance=tolerance, cutoff=20.0))
        begin = t[0] + 1.0 - 0.2  # the rest before, but for the margin; found by the speed
        times = np.linspace(0.5, made.duration - 0.5, 400)
        samples = np.array([made.trajectory.sample(made.slowed * time).q for time in times])
        apart = []
        for shift in np.linspace(-0.5, 0.8, 261):  # where exactly the motion began is for the speed to say
            truth = np.column_stack([np.interp(begin + shift + times, t, column) for column in q.T])
            apart += [np.abs(samples - truth).max()]
        assert min(apart) < 1.5 * tolerance + 1e-3
        assert 0.3 * tolerance < made.distance <= tolerance
        assert made.slowed == 1.0
    assert len(made.trajectory.times) < 0.1 * made.shown
    assert made.clipped == ()


def test_coarser_tolerances_need_fewer_points_and_noise_does_not_add_many() -> None:
    counts = [
        len(demonstration(DYNAMICS, *shown(noise=noise), DemonstrationSettings(tolerance=tolerance)).trajectory.times)
        for noise, tolerance in ((0.0, 0.02), (0.0, 0.002), (3e-4, 0.002))
    ]
    assert counts[0] < counts[1]
    assert counts[2] < 2 * counts[1]


def test_rests_are_cut_and_the_ends_are_at_rest() -> None:
    made = demonstration(DYNAMICS, *shown(rest=3.0))
    slow = 6.0 * np.sqrt(0.02 / (0.9 * 4.0 * np.pi * 5.0))  # until then the wrist is slower than 0.02 rad/s: u̇ = 5 s²
    assert made.duration == pytest.approx(6.0 - 2.0 * slow + 2.0 * 0.2, abs=0.03)
    for k in (0, -1):
        assert not made.trajectory.velocities[k].any()
        assert not made.trajectory.accelerations[k].any()


def test_a_motion_that_is_too_fast_is_slowed_down_within_the_limits_on_the_same_path() -> None:
    t, q = shown()
    settings = DemonstrationSettings(tolerance=0.0005, rest_speed=0.05, cutoff=40.0)
    fast = demonstration(DYNAMICS, t[0] + (t - t[0]) / 8.0, q, settings)
    assert fast.slowed > 1.0
    q, qd, qdd, _ = curve(fast.trajectory)
    assert (np.abs(qd) <= 0.8 * PRR.velocity_limit * (1 + 1e-9)).all()
    assert 1.1**-2 < np.abs(DYNAMICS.inverse(q, qd, qdd) / (0.8 * PRR.effort_limit)).max() <= 1.0  # 1.1 a step
    motion = curve(demonstration(DYNAMICS, *shown()).trajectory)
    for order, text, limit in (
        (1, 'velocity="1"', 0.8),
        (2, 'velocity="8" acceleration="2"', 2.0),
        (3, 'velocity="8" jerk="5"', 5.0),
    ):
        slow = rd.create_dynamics("rnea", rd.load_robot(PRR.urdf.replace('velocity="8"', text)), compiled=False)
        factor = (np.abs(motion[order][:, 2]).max() / limit) ** (1.0 / order)  # by the wrist's alone
        assert 0.999 * factor < demonstration(slow, *shown()).slowed < 1.07 * factor


@pytest.mark.parametrize(("friction", "gravity"), [(7.0, "0 0 -9.81"), (0.0, "-3.5 0 -9.2")])
def test_the_command_slows_a_motion_down_for_friction_and_for_gravity(friction, gravity, tmp_path, capsys) -> None:
    """2 kg at up to 1.6 m/s² and 7 N of friction, or on a rail that is tilted, where 8 of 10 N may be used."""
    t = np.arange(0.0, 3.0, 0.01)
    u = np.clip(t - 0.5, 0.0, 1.0)
    rows = [f"{time:.2f},{x:.9g}" for time, x in zip(t, 0.28 * u**3 * (10.0 - 15.0 * u + 6.0 * u**2), strict=True)]
    (tmp_path / "shown.csv").write_text("\n".join(["time,slide/position", *rows]))
    arm = tmp_path / "rail.urdf"
    arm.write_text(slider((-1, 1, 5, 10), extra=losses(friction=friction)))
    out = ["--out", str(tmp_path / "taught.json"), "--json", "--gravity", *gravity.split()]
    assert main(["teach", str(arm), "--recording", str(tmp_path / "shown.csv"), *out]) == 0
    assert json.loads(capsys.readouterr().out)["slowed"] > 1.5


@pytest.mark.parametrize("lowest", [-5.6, -1.51])
def test_a_joint_that_was_led_beyond_its_limits_stops_there_and_is_named(lowest: float) -> None:
    t, q = shown()
    q[:, 2] *= lowest / q[:, 2].min()
    made = demonstration(DYNAMICS, t, q)
    assert made.clipped == (PRR.joint_names[2],)
    least, greatest = made.trajectory.extent()
    assert (least >= PRR.lower).all() and (greatest <= PRR.upper).all()


@pytest.mark.parametrize("ends", [(0.5, 0.5), (0.0, 0.001)])
def test_a_joint_with_hardly_any_range_stays_within_it(ends: tuple[float, float]) -> None:
    """The tolerance, which the motion keeps from its limits, is more than it has."""
    urdf = PRR.urdf.replace('lower="-1.5" upper="2.1"', 'lower="{}" upper="{}"'.format(*ends))
    t, q = shown()
    q[:, 2] = np.linspace(*ends, len(t))
    made = demonstration(rd.create_dynamics("rnea", rd.load_robot(urdf), compiled=False), t, q)
    least, greatest = made.trajectory.extent()
    assert ends[0] <= least[2] <= greatest[2] <= ends[1]
    assert greatest[2] - least[2] >= 0.7 * (ends[1] - ends[0])


@pytest.mark.parametrize("turned", [0.0, 1.0])
def test_a_finger_of_millimetres_moves_as_it_was_shown(turned: float) -> None:
    """Alone or with the arm: its travel is hardly more than the tolerance of an arm, its speed less than at rest."""
    inertial = 0.1, None, (1e-3, 0, 0, 1e-3, 0, 1e-3)
    turn = joint("turn", "revolute", "base", "hand", (0, 0, 1), limit=(-2.0, 2.0, 2.0, 50.0))
    slide = joint("slide", "prismatic", "hand", "finger", (1, 0, 0), limit=(0.0, 3e-3, 5e-3, 20.0))
    gripper = robot("gripper", link("base"), link("hand", *inertial), turn, link("finger", *inertial), slide)
    t = np.linspace(0.0, 6.0, 601)
    ratio = np.clip((t - 1.0) / 4.0, 0.0, 1.0)
    q = (ratio**2 * (3.0 - 2.0 * ratio))[:, None] * [turned, 3e-3]
    made = demonstration(rd.create_dynamics("rnea", rd.load_robot(gripper), compiled=False), t, q).trajectory
    assert_allclose(made.positions[[0, -1], 1], [0.0, 3e-3], atol=4e-5)


def test_states_that_come_slowly_are_a_motion() -> None:
    """The arm comes to rest within one step."""
    t, q = np.arange(4.0), np.tile([0.5, 0.1, 0.2], (4, 1))
    q[0, 1] += 0.03
    assert_allclose(demonstration(DYNAMICS, t, q).trajectory.positions, q[:2])


def test_uneven_times_and_turns_of_a_continuous_joint() -> None:
    urdf = (Path(__file__).parents[1] / "urdf/prr.urdf").read_text()
    turning = rd.load_robot(urdf.replace('name="wrist" type="revolute"', 'name="wrist" type="continuous"'))
    assert turning.joints[2].type == "continuous"
    dynamics = rd.create_dynamics("rnea", turning, compiled=False)
    t, q = shown()
    rng = np.random.default_rng(2)
    rows = np.sort(rng.choice(len(t), len(t) * 2 // 3, replace=False))
    q[:, 2] = np.linspace(2.0, 8.0, len(t))
    wrapped = q.copy()
    wrapped[:, 2] = (q[:, 2] + np.pi) % (2 * np.pi) - np.pi
    made = demonstration(dynamics, t[rows], wrapped[rows], DemonstrationSettings(tolerance=0.005))
    assert np.ptp(made.trajectory.positions[:, 2]) == pytest.approx(6.0, abs=0.1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda t, q: (t, np.tile(q[:1], (len(t), 1))), "no joint moves faster than"),
        (lambda t, q: (t[:1], q[:1]), "times: must be at least two that increase"),
        (lambda t, q: (np.maximum(t, t[1]), q), "times: must be at least two that increase"),
        (lambda t, q: (t, np.where(q > 0.5, np.nan, q)), "positions"),
        (lambda t, q: (t, q[:, :2]), "positions"),
    ],
)
def test_recordings_that_cannot_be_used(change, problem: str) -> None:
    assert demonstration(DYNAMICS, *(part[[0, -1]] for part in shown())).shown == 2
    with pytest.raises(InputError, match=problem):
        demonstration(DYNAMICS, *change(*shown()))


def test_a_path_on_which_the_arm_cannot_carry_itself() -> None:
    heavy = rd.create_dynamics("rnea", PRR, gravity=(0.0, 0.0, -400.0), compiled=False)
    with pytest.raises(InputError, match=r"joint 'shoulder' would need .*however slowly it moves"):
        demonstration(heavy, *shown())
