# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exciting motions: better than chance, within every limit, at rest at both ends, and as a file."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import arms
import industrial
import numpy as np
import pytest
from identified import AWKWARD, PRR, RR
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control.motion.trajectory import Trajectory, read_trajectory, write_trajectory
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification import IdentificationSettings, Samples, identify
from robodyn_ros.identification.estimation.base_parameters import base_parameters
from robodyn_ros.identification.excitation import FourierSeries, _approach, excite
from robodyn_ros.identification.excitation_criteria import DOptimality, ExcitationLimits
from robodyn_ros.identification.settings import ExcitationSettings, Workspace

QUICK = ExcitationSettings(harmonics=3, tries=1)
FLOOR = -0.05


@pytest.fixture(scope="module")
def found():
    return excite(PRR, QUICK, workspace=Workspace(lower=(-0.6, -np.inf, FLOOR), upper=(0.5, np.inf, 2.5)))


def sampled(trajectory, count=4000):
    times = np.linspace(0.0, trajectory.duration, count)
    samples = [trajectory.sample(t) for t in times]
    return (times, *(np.array([getattr(sample, name) for sample in samples]) for name in ("q", "qd", "qdd")))


def test_within_every_limit_all_the_way(found):
    _, q, qd, qdd = sampled(found.trajectory)
    least, greatest = found.trajectory.extent()
    assert (least >= PRR.lower).all()
    assert (greatest <= PRR.upper).all()
    assert (found.trajectory.speed(np.zeros(3)) <= PRR.velocity_limit).all()
    assert (np.abs(RNEA(PRR).inverse(q, qd, qdd)) <= PRR.effort_limit).all()
    kinematics = rd.Kinematics(PRR)
    for link in ("carriage", "arm", "hand", "tool"):
        place = kinematics.pose(link, q)[:, :3, 3]
        assert place[:, 0].min() >= -0.6
        assert place[:, 0].max() <= 0.5
        assert place[:, 2].min() >= FLOOR
        assert place[:, 2].max() <= 2.5
    # and the limits are what holds it back
    assert kinematics.pose("tool", q)[:, 0, 3].max() > 0.4


def test_begins_and_ends_at_rest_and_repeats(found):
    trajectory = found.trajectory
    assert_allclose(trajectory.positions[0], found.start)
    for k in (0, -1):
        assert_allclose(trajectory.velocities[k], 0.0)
        assert_allclose(trajectory.accelerations[k], 0.0)
    period = found.series.period
    assert_allclose(trajectory.duration, found.approach + 3 * period)
    for t in (0.3, 4.1, 9.9):
        first, second = trajectory.sample(found.approach + t), trajectory.sample(found.approach + period + t)
        assert_allclose(second.q, first.q, atol=1e-9)
        assert_allclose(second.qdd, first.qdd, atol=1e-6)
    q, qd, _ = found.series.sample(np.array([0.3, 4.1, 9.9]))
    assert_allclose([trajectory.sample(found.approach + t).q for t in (0.3, 4.1, 9.9)], q, atol=1e-5)
    assert_allclose([trajectory.sample(found.approach + t).qd for t in (0.3, 4.1, 9.9)], qd, atol=1e-3)


def test_the_approach_is_slowed_down_until_it_is_within_the_limits(found):
    """By half at a time: of 150 % of an acceleration a quarter is left."""
    ways = []

    def worst(way):
        ways.append(np.abs(way[2]).max())
        return 1.5 * ways[-1] / ways[0], "acceleration"

    limits = SimpleNamespace(jerk=np.full(3, np.inf), worst=worst)
    slow = _approach(PRR.home, found.series, limits)
    assert_allclose(ways, [ways[0], ways[0] / 4.0])
    assert_allclose(
        slow, 2.0 * _approach(PRR.home, found.series, SimpleNamespace(jerk=limits.jerk, worst=lambda _: (1.0, "")))
    )


@pytest.mark.parametrize(("limit", "ratio"), [(6.4, 0.8), (6.0, 1.0)])
def test_the_approach_leaves_effort_unless_its_start_needs_it(limit, ratio):
    """A pendulum of 0.5 kg·m is held at 1.5 rad by 4.9 N·m: by 76 % of the one limit, and by 82 % of the other."""
    text = arms.mechanism("R", inertias=[0.1]).replace('effort="150.0"', f'effort="{limit}"')
    pendulum = rd.load_robot(text)
    made = excite(pendulum, replace(QUICK, period=8.0), start=[1.5])
    assert made.series.period == 8.0
    times, q, qd, qdd = sampled(made.trajectory)
    used = np.abs(RNEA(pendulum).inverse(q, qd, qdd))[:, 0] / limit
    assert ratio - 0.15 < used[times < made.approach].max() <= ratio
    assert used[times > made.approach].max() <= 0.8


def test_the_series_is_what_its_derivatives_say():
    series = FourierSeries(3.0, np.random.default_rng(1).normal(size=(7, 2)))
    t, h = np.linspace(0.0, 3.0, 50), 1e-5
    q, qd, qdd = series.sample(t)
    ahead, back = series.sample(t + h), series.sample(t - h)
    assert_allclose((ahead[0] - back[0]) / (2 * h), qd, atol=1e-7)
    assert_allclose((ahead[1] - back[1]) / (2 * h), qdd, atol=1e-6)
    for part in (qd, qdd):
        assert_allclose(part[[0, -1]], 0.0, atol=1e-12)
    assert_allclose(q[0], q[-1])


def test_derivatives_of_information_and_of_limits():
    robot = AWKWARD["gantry"]
    dynamics = RNEA(robot, viscous=robot.damping, coulomb=robot.friction)
    base = base_parameters(robot, viscous=True, coulomb=True)
    information = DOptimality(dynamics, base, np.array([1.0, 2.0, 3.0, 0.5]))
    limits = ExcitationLimits(
        dynamics, ExcitationSettings(), Workspace(lower=(-0.2, -9.0, 0.1), upper=(0.4, np.inf, np.inf))
    )
    rng = np.random.default_rng(2)
    motion = [rng.normal(size=(30, 4)) * size for size in (0.7, 2.0, 8.0)]
    for function in (information.loss, limits.penalty):
        value, slopes = function(*motion)
        assert value > 0.0 or function == information.loss
        for _ in range(3):
            way = [rng.normal(size=(30, 4)) for _ in motion]
            h = 1e-6
            ahead = function(*(part + h * step for part, step in zip(motion, way, strict=True)))[0]
            back = function(*(part - h * step for part, step in zip(motion, way, strict=True)))[0]
            slope = sum(float(np.sum(a * b)) for a, b in zip(slopes, way, strict=True))
            assert_allclose((ahead - back) / (2 * h), slope, rtol=1e-5, atol=1e-5)


def test_errors_are_smaller_as_promised(found):
    """Than those of the motion drawn at random that the optimiser began with."""
    assert found.gain > 2.0
    assert found.condition < 0.5 * found.condition_before
    dynamics, rng = RNEA(PRR), np.random.default_rng(1)
    t = np.arange(600) * found.series.period / 600
    motions = [series.sample(t) for series in (found.drawn, found.series)]
    scale = np.sqrt(np.mean(dynamics.inverse(*motions[0]) ** 2, axis=0))
    errors, volumes = [], []
    for motion in motions:
        effort = dynamics.inverse(*motion) + 0.1 * scale * rng.normal(size=(600, 3))
        errors.append(identify(PRR, Samples(t, *motion, effort), IdentificationSettings(standstill=0.0)).base_errors)
        rows = found.base.regressor(dynamics.regressor(*motion)) / scale[:, None]
        volumes.append(np.linalg.slogdet(np.einsum("sij,sik->jk", rows, rows))[1])
    columns = rows.reshape(-1, found.base.rank)
    assert_allclose(np.linalg.cond(columns / np.linalg.norm(columns, axis=0)), found.condition, rtol=0.1)
    assert_allclose(np.exp((volumes[1] - volumes[0]) / (2 * found.base.rank)), found.gain, rtol=0.02)
    assert np.exp(np.log(errors[0] / errors[1]).mean()) > 2.0


@pytest.mark.thorough
def test_a_floor_does_not_make_the_motion_small():
    """What the optimiser leaves beyond the wall must not be taken away by shrinking everything."""
    arm = rd.load_robot(industrial.panda())
    found = excite(arm, QUICK, workspace=Workspace(lower=(-np.inf, -np.inf, FLOOR)))
    assert found.gain > 2.0
    assert (found.trajectory.speed(np.zeros(7)) > 0.6 * arm.velocity_limit).sum() >= 4
    _, q, _, _ = sampled(found.trajectory, 1000)
    assert rd.Kinematics(arm).pose("panda_hand_tcp", q)[:, 2, 3].min() > FLOOR


@pytest.mark.parametrize("bound", ["low", (0.0, 1.0)])
def test_a_bound_of_the_workspace_is_three_numbers(bound):
    with pytest.raises(InputError, match="workspace: must be three numbers"):
        Workspace(lower=bound).checked(RR)


def test_a_start_of_ones_own_and_one_that_does_not_do():
    turning = rd.load_robot(RR.urdf.replace('type="revolute"', 'type="continuous"', 1))
    found = excite(turning, QUICK, start=[4.0, -0.3])
    assert_allclose([found.start, found.trajectory.positions[0]], [[4.0 - 2.0 * np.pi, -0.3]] * 2)
    with pytest.raises(InputError, match="start: is beyond the limits: place of link"):
        excite(RR, QUICK, workspace=Workspace(lower=(-1.0, -1.0, 3.0)))
    with pytest.raises(InputError, match="has nothing between"):
        excite(RR, QUICK, workspace=Workspace(lower=(0.0, 0.0, 1.0), upper=(1.0, 1.0, 0.0)))
    with pytest.raises(InputError, match="'link0' cannot move"):
        excite(RR, QUICK, workspace=Workspace(links=("link0",)))
    with pytest.raises(InputError, match="start: is beyond the limits: position of joint 'joint1' is at"):
        excite(RR, QUICK, start=[9.0, 0.0])
    weak = RR.urdf.replace('lower="-2.5"', 'lower="-0.1"', 1).replace('effort="150.0"', 'effort="3.2"', 1)
    held = np.abs(rd.create_dynamics("rnea", RR).gravity([[1.325, 0.125], [0.3, -0.3]])[:, 0]) / (0.8 * 3.2)
    with pytest.raises(InputError) as refused:
        excite(rd.load_robot(weak), QUICK, start=[0.3, -0.3])
    for part, ratio in zip(str(refused.value).split(" nor "), held, strict=True):
        assert f"effort of joint 'joint1' is at {100.0 * ratio:.0f} % of its limit" in part
    unlimited = RR.urdf.replace('type="revolute"', 'type="prismatic"', 1).replace("<limit", "<nolimit", 1)
    with pytest.raises(InputError, match="'joint1' slides without limits"):
        excite(rd.load_robot(unlimited), QUICK)
    with pytest.raises(InputError, match="nothing to identify"):
        excite(RR, QUICK, identified=IdentificationSettings(inertial=False, viscous=False, coulomb=False))


def test_a_joint_with_one_limit_beyond_a_turn_moves_beside_it():
    limit = 'lower="4" upper="1.7976931348623157e308" '
    robot = rd.load_robot(re.sub('lower=".*?" upper=".*?" ', limit, RR.urdf, count=1))
    limits = ExcitationLimits(RNEA(robot), ExcitationSettings(position_margin=0.0), None)
    assert limits.middle[0] - limits.half[0] == pytest.approx(4.0)
    assert limits.half[0] == pytest.approx(np.pi)


def test_files_of_trajectories(tmp_path):
    path = tmp_path / "motion.json"
    t, q, qd, qdd = np.array([0.0, 0.4, 1.0]), *np.random.default_rng(3).normal(size=(3, 3, 3))
    for given in ((q, qd, qdd), (q, qd, None), (q, None, None)):
        write_trajectory(path, Trajectory(t, *given), PRR.joint_names)
        again = read_trajectory(path, PRR)
        assert_allclose(again.times, t)
        for one, other in zip((again.positions, again.velocities, again.accelerations), given, strict=True):
            assert (one is None) == (other is None)
            assert other is None or (one == other).all()
    message = json.loads(path.read_text())
    order = [2, 0, 1]
    shuffled = {"joint_names": [PRR.joint_names[k] for k in order], "points": message["points"]}
    path.write_text(json.dumps(shuffled))
    assert (read_trajectory(path, PRR).positions[:, order] == q).all()
    for text, problem in (
        ("{", "cannot be read"),
        ("[1]", "is no JointTrajectory, which has joint_names, and points with"),
        ("<robot/>", "is no JointTrajectory, which has"),
        ('{"joint_names": [null, "a"], "points": []}', "is of the joints"),
        ('{"joint_names": {"a": 1}, "points": []}', "is of the joints"),
        ('{"joint_names": ["a"], "points": []}', "is of the joints"),
        (path.read_text().replace('"positions"', '"place"'), "has no positions"),
        (path.read_text().replace("[", "[0.0, ", 3), "is no JointTrajectory|is of the joints"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=problem):
            read_trajectory(path, PRR)
    with pytest.raises(InputError, match="cannot be read"):
        read_trajectory(tmp_path / "nothing.json", PRR)


def test_the_command_and_its_way_through_the_simulator(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prr.urdf").write_text(PRR.urdf)
    options = ["--harmonics", "3", "--tries", "1", "--period", "4", "--periods", "1", "--floor", "-0.1"]
    assert main(["excite", "prr.urdf", *options, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["parameters"] == 13
    assert [joint["joint"] for joint in said["joints"]] == list(PRR.joint_names)
    trajectory = read_trajectory("motion.json", PRR)
    assert_allclose(trajectory.duration, said["duration"])
    assert main(["simulate", "prr.urdf", "--motion", "motion.json", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert "faults" not in figures or not figures["faults"]
    assert main(["excite", "prr.urdf", "--out", "prr.urdf/motion.json"]) == 2
    assert main(["excite", "prr.urdf", "--box", "0", "1", "0", "1", "2", "1"]) == 2
    assert "is beyond the limits" in capsys.readouterr().err


def test_an_excitation_keeps_to_the_limits_of_acceleration_and_jerk_of_the_urdf(found):
    urdf = PRR.urdf.replace("<limit ", '<limit acceleration="1.5" deceleration="1.2" jerk="3" ')
    times, _, _, qdd = sampled(excite(rd.load_robot(urdf), QUICK).trajectory)
    assert np.abs(sampled(found.trajectory)[3]).max() > 1.2 >= np.abs(qdd).max() * (1 - 1e-6)
    assert np.abs(np.diff(qdd, axis=0)).max() / times[1] <= 3.0 * 1.01
    assert np.abs(qdd).max() > 0.4
    slow = ExcitationLimits(RNEA(rd.load_robot(urdf.replace('jerk="3"', 'jerk="1"'))), QUICK, None)
    assert_allclose(slow.acceleration * 2.0 * np.pi * 3 / QUICK.period, 1.0)  # of a sine at the fastest harmonic
