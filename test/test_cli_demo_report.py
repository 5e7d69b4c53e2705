# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of the demonstration on signals whose figures are known, its promise, its table and its picture."""

import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console

import robodyn_ros as rd
from robodyn_ros.cli import demo as runs
from robodyn_ros.cli.arm import OWN_ARM, POSES, REST, TOUR, tour
from robodyn_ros.cli.demo.figures import JointFigures, RunFigures, cut, draw, evaluate, judge, table
from robodyn_ros.cli.main import main
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.motion.trajectory import RunRecord
from robodyn_ros.document.plotting import (
    FURTHER_COLOURS,
    LAW_COLOURS,
    add_legend,
    gather_legend,
    joint_figure,
    law_colours,
    law_panels,
)
from robodyn_ros.document.text import digits, quantity
from robodyn_ros.errors import InputError
from robodyn_ros.files import find
from robodyn_ros.plugins import available, load

START, RATE = 12.5, 500.0


@pytest.fixture(scope="module")
def robot():
    return rd.load_robot(find(OWN_ARM))


def recorded(way, amplitude, missing=0):
    """A record in which each joint is off by a sine of whole periods, from before the motion until after it."""
    count = round((way.trajectory.duration + 2.0) * RATE)
    stamp = START - 1.0 + np.arange(count) / RATE
    time = stamp - START
    reference = way.trajectory.samples(time).q
    sine = np.sin(2.0 * np.pi * 20.0 * time / way.trajectory.duration)[:, np.newaxis]
    outside = (time < 0.0) | (time > way.trajectory.duration)
    q = np.where(outside[:, np.newaxis], reference + 9.0, reference - sine * amplitude)
    effort = np.outer(np.cos(time), [300.0, 48.0, 9.0])
    effort[outside] = 1e6
    kept = np.flatnonzero(~outside)[missing:]
    kept = np.union1d(np.flatnonzero(outside), kept)
    names = ("elevator", "shoulder", "wrist")
    return RunRecord(
        names, START, stamp, stamp + 0.3, q, np.zeros_like(q), stamp[kept], stamp[kept] + 0.31, effort[kept],
        commands_sent=5000, commands_taken=4993,
        command_gap=0.004, faults=(), lockstep=False,
    )  # fmt: skip


def run(controller, errors, lost=0):
    """Figures of a run with these RMS errors."""
    names, units, efforts = ("elevator", "shoulder", "wrist"), ("m", "rad", "rad"), ("N", "N·m", "N·m")
    joints = tuple(
        JointFigures(*names_, rms_error=error, peak_error=3 * error, peak_effort=limit / 3, effort_limit=limit)
        for *names_, error, limit in zip(names, units, efforts, errors, (600.0, 96.0, 36.0), strict=True)
    )
    return RunFigures(controller, joints, 499.7, 5137, lost, 0)


def test_figures_of_a_known_error(robot):
    way = tour()
    amplitude = np.array([0.02, 0.3, 0.07])
    found = evaluate("pd", recorded(way, amplitude, missing=7), way.trajectory, robot)
    assert found.controller == "pd"
    assert [joint.joint for joint in found.joints] == ["elevator", "shoulder", "wrist"]
    assert [joint.unit for joint in found.joints] == ["m", "rad", "rad"]
    rms, peak = [joint.rms_error for joint in found.joints], [joint.peak_error for joint in found.joints]
    np.testing.assert_allclose(rms, amplitude / np.sqrt(2.0), rtol=1e-3)
    np.testing.assert_allclose(peak, amplitude, rtol=1e-3)
    np.testing.assert_allclose([joint.effort_ratio for joint in found.joints], [0.5, 0.5, 0.25], rtol=2e-3)
    assert found.state_rate == pytest.approx(RATE)
    assert (found.commands_sent, found.commands_lost, found.states_unanswered) == (5000, 7, 7)
    assert found.broken == ()
    time = cut(recorded(way, amplitude), way.trajectory).time
    assert time[[0, -1]] == pytest.approx([0.0, way.trajectory.duration], abs=1.0 / RATE)


def test_a_record_of_another_time_is_refused(robot):
    way = tour()
    with pytest.raises(InputError, match="no states or no commands"):
        cut(replace(recorded(way, np.zeros(3)), start=1e4), way.trajectory)


def test_a_record_comes_back_from_its_file(tmp_path):
    record = recorded(tour(), np.array([0.02, 0.3, 0.07]))
    record.save(tmp_path / "record.npz")
    loaded = RunRecord.load(tmp_path / "record.npz")
    for name, value in vars(record).items():
        np.testing.assert_array_equal(getattr(loaded, name), value)
        assert type(getattr(loaded, name)) is type(value)


@pytest.mark.parametrize("content", [b"", b"not a record", None])
def test_what_is_no_record_is_refused(tmp_path, content):
    path = tmp_path / "record.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="is not the record of a run"):
        RunRecord.load(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"faults": ("controller: no joint states: hold",)}, "controller: no joint states"),
        ({"commands_taken": 4700}, "300 of 5000 commands were lost, more than 5%"),
        ({"command_gap": 0.25}, "no command reached the arm for 250 ms, more than 20 ms"),
        ({"command_gap": float("nan")}, "no command reached the arm for nan ms"),
    ],
)
def test_a_broken_run_says_why_and_gives_no_verdict(robot, change, why):
    way = tour()
    good = evaluate("pd", recorded(way, np.array([0.02, 0.3, 0.07])), way.trajectory, robot)
    found = evaluate("computed_torque", replace(recorded(way, np.full(3, 1e-5)), **change), way.trajectory, robot)
    assert why in found.broken[0]
    verdict = judge([good, found])
    assert not verdict.passed
    assert not verdict.judged
    assert str(verdict).startswith(f"No verdict: computed_torque: {why}")
    assert judge([good, replace(found, broken=())]).passed


@pytest.mark.parametrize("field", ["state", "command"])
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_a_gap_in_the_record_breaks_the_run_wherever_it_is(robot, field, place):
    way, count = tour(), 30
    record = recorded(way, np.full(3, 0.1))
    stamps = getattr(record, f"{field}_stamp") - START
    first = {"start": 0.0, "middle": way.trajectory.duration / 2, "end": way.trajectory.duration - count / RATE}[place]
    kept = (stamps < first - 1e-9) | (stamps >= first + count / RATE)
    names = [f"{field}_stamp", f"{field}_received", *(("q", "qd") if field == "state" else ("effort",))]
    record = replace(record, **{name: getattr(record, name)[kept] for name in names})
    why = {"state": "no state was recorded for", "command": "no state was answered for"}[field]
    found = evaluate("pd", record, way.trajectory, robot)
    assert any(each.startswith(why) for each in found.broken), found.broken


def test_in_lockstep_answers_to_repeated_states_are_no_losses(robot):
    way = tour()
    record = replace(recorded(way, np.full(3, 0.1)), commands_taken=3000, lockstep=True)
    found = evaluate("pd", record, way.trajectory, robot)
    assert found.broken == ()
    assert found.commands_lost == 0
    assert found.lockstep


def in_demo(monkeypatch, tmp_path, *records):
    """Run the verb on records in place of processes, without its picture; the exit code, and whether each run was in
    lockstep.
    """
    left, waited, drawn = list(records), [], []

    def run_controller(controller, trajectory, robot, env, folder, show, lockstep, given):
        assert not list(folder.iterdir()), "files of the run before"
        waited.append(lockstep)
        return replace(left.pop(0), lockstep=lockstep)

    monkeypatch.setattr(runs, "run_controller", run_controller)
    monkeypatch.setattr("robodyn_ros.cli.demo.need_ros", lambda: None)
    monkeypatch.setattr("robodyn_ros.cli.demo.figures.draw", lambda path, runs, *_: drawn.extend((path, *runs)))
    path = tmp_path / "demo.svg"
    code = main(["demo", "--json", "--controller", "pd,computed_torque", "--plot", str(path)])
    assert not left
    assert drawn == [path, "pd", "computed_torque"]
    return code, waited


def test_each_problem_of_a_broken_run_is_told_once(robot):
    sent = ("controller: arm does not follow: hold, latched; arm does not follow", "simulator: running; late")
    record = replace(recorded(tour(), np.zeros(3)), faults=(*sent, "controller: arm does not follow; too fast: hold"))
    found = evaluate("pd", record, tour().trajectory, robot)
    assert found.broken == ("controller: arm does not follow, too fast", "simulator: late")


@pytest.mark.parametrize(
    ("broken", "lockstep", "passed"),
    [("pd", [False, True, False], "true"), ("computed_torque", [False, False, True], "false")],
)
def test_a_broken_run_is_repeated_in_lockstep(broken, lockstep, passed, monkeypatch, tmp_path, capsys):
    """If it is broken there, too, as the second one is here, there is no verdict."""
    way = tour()
    pd, mine = recorded(way, np.array([0.02, 0.3, 0.07])), recorded(way, np.full(3, 1e-5))
    fault = replace(pd if broken == "pd" else mine, faults=("controller: too fast: hold",))
    records = (fault, pd, mine) if broken == "pd" else (pd, fault, fault)
    assert in_demo(monkeypatch, tmp_path, *records) == (int(passed == "false"), lockstep)
    said = capsys.readouterr()
    assert f"{broken}: the run cannot be judged; it is repeated in lockstep: controller: too fast" in said.err
    assert ("computed_torque: the run cannot be judged: controller: too fast" in said.err) == (passed == "false")
    assert f'"passed": {passed}' in said.out


def test_a_problem_that_says_more_of_another_is_told_once(robot):
    faults = "simulator: cannot keep up with real time", "simulator: running; cannot keep up: 3 s lost; no command"
    record = replace(recorded(tour(), np.zeros(3)), faults=faults)
    assert evaluate("pd", record, tour().trajectory, robot).broken[0] == "simulator: cannot keep up, no command"


def test_every_law_has_a_colour_of_its_own_everywhere():
    built_in = {law for law in available("controllers") if load("controllers", law).__module__.startswith("robodyn_")}
    assert built_in == set(LAW_COLOURS)
    colours = [*LAW_COLOURS.values(), *FURTHER_COLOURS]
    assert len(set(colours)) == len(colours)
    assert law_colours(["mine", "pd", "computed_torque"])["pd"] == law_colours(["pd"])["pd"] == LAW_COLOURS["pd"]
    for others in (["a"], ["b", "pd"], ["zebra", "yak"]):
        assert law_colours(["mine"])["mine"] in FURTHER_COLOURS
        assert len(set(law_colours([*others, "mine"]).values())) == len(others) + 1
    many = [f"law_{index}" for index in range(len(FURTHER_COLOURS))]
    assert len(set(law_colours(many).values())) == len(many)
    assert law_colours(many[::-1]) == law_colours(many)
    assert law_panels(["a", "b", "c", "d"]) == [("a", "b", "c", "d")]
    assert law_panels("abcdef") == [("a", "b", "c"), ("d", "e", "f")]
    assert [len(part) for part in law_panels("abcdefghi")] == [3, 3, 3]
    assert law_panels([]) == []


def test_a_legend_of_all_laws_is_within_the_picture(tmp_path):
    with joint_figure(tmp_path / "laws.svg", 3, foot=1.4) as (figure, grid):
        for name, colour in law_colours([*LAW_COLOURS, "reference"]).items():
            grid[0, 0].plot([0.0, 1.0], color=colour, label=name)
        add_legend(figure, *gather_legend(grid[:1, 0]))
        figure.draw_without_rendering()
        (legend,) = figure.legends
        drawn, whole = legend.get_window_extent(), figure.bbox
        assert whole.x0 < drawn.x0
        assert drawn.x1 < whole.x1
        assert whole.y0 < drawn.y0
        assert all(axes.get_tightbbox().y0 > drawn.y1 for axes in grid[-1])


def test_colours_of_laws_can_be_told_apart():
    """By CIE 1976 differences in L*a*b*; about 2 can just be seen."""

    def lab(colour):
        rgb = np.array([int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)])
        linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
        xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
        f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    for (one, first), (two, second) in combinations(LAW_COLOURS.items(), 2):
        assert np.linalg.norm(lab(first) - lab(second)) > 20.0, f"{one} and {two}"


def test_soft_limits_do_not_act_in_the_poses(robot):
    margin = SafetySettings().soft_limit_margin
    for name, pose in POSES.items():
        assert (np.array(pose) > robot.lower + margin).all(), name
        assert (np.array(pose) < robot.upper - margin).all(), name


GOOD = run("computed_torque", (2e-4, 1e-3, 3e-3))


def test_the_promise_kept():
    verdict = judge([run("pd", (0.06, 0.1, 0.3)), GOOD])
    assert verdict.passed and verdict.judged
    assert verdict.improvements == pytest.approx({"elevator": 300.0, "shoulder": 100.0, "wrist": 100.0})
    assert "is 300 (elevator), 100 (shoulder), 100 (wrist) times smaller" in str(verdict)
    assert judge([run("pd", (4e-4, 0.1, 0.3)), GOOD]).passed  # a prismatic joint need not be ten times better


@pytest.mark.parametrize(
    ("pd", "model_based", "said"),
    [
        ((0.06, 0.009, 0.3), (2e-4, 1e-3, 3e-3), ["9 times better on the shoulder"]),
        ((0.06, 0.1, 0.3), (2.1e-3, 1e-3, 3e-3), ["2.10 mm RMS on the elevator, not under 2.00 mm"]),
        ((0.06, 0.1, 0.3), (2e-4, 1e-3, 5.2e-3), ["5.20 mrad RMS on the wrist, not under 5.00 mrad"]),
        ((1e-3, 1e-3, 1e-3), (3e-3, 6e-3, 6e-3), ["elevator", "shoulder", "wrist", "only 0.167 times"]),
        ((0.06, 0.1, 0.3), (float("nan"),) * 3, ["nan mm RMS on the elevator", "only nan times better on the wrist"]),
    ],
)
def test_the_promise_broken_is_said_with_its_figures(pd, model_based, said):
    verdict = judge([run("pd", pd), run("gravity_compensation", pd), run("computed_torque", model_based)])
    assert not verdict.passed
    assert str(verdict).startswith("Failed: ")
    for part in said:
        assert part in str(verdict)


def test_without_both_laws_nothing_is_judged_but_the_limits():
    verdict = judge([GOOD])
    assert verdict.passed and not verdict.judged
    assert "Not judged" in str(verdict)
    assert not judge([run("computed_torque", (2e-2, 1e-3, 3e-3))]).passed
    assert judge([run("pd", (2e-2, 1e-1, 3e-1))]).passed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00049, "<0.001"),
        (-0.00049, ">-0.001"),
        (0.0005, "0.001"),
        (0.01234, "0.012"),
        (0.9995, "1.00"),
        (9.994, "9.99"),
        (9.995, "10.0"),
        (99.95, "100"),
        (-517.2, "-517"),
    ],
)
def test_digits(value, text):
    assert digits(value) == text


def test_quantity_is_in_thousandths():
    assert quantity(0.0412, "m") == "41.2 mm"
    assert quantity(0.0005, "rad") == "0.500 mrad"


@pytest.mark.parametrize("errors", [(0.06, 0.1, 0.3), (0.9999, 2.9, 3.1), (0.0, 0.0, 0.0)])
def test_the_table_fits_80_columns_and_has_every_figure(errors):
    out = io.StringIO()
    laws = ("pd", "gravity_compensation", "computed_torque")
    Console(file=out, width=80).print(table([run(name, errors, lost=1234) for name in laws]))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for part in (*laws, "elevator", "shoulder", "wrist", "500 Hz", "5137", "1234 lost", "200 N", "33%"):
        assert part in text
    assert text.count(f" {quantity(errors[1], 'rad')} ") >= len(laws)


def test_the_motion_keeps_within_the_limits_of_the_arm(robot):
    dynamics = rd.create_dynamics("rnea", robot)
    way = tour()
    samples = [way.trajectory.sample(t) for t in np.linspace(0.0, way.trajectory.duration, 2000)]
    q, qd, qdd = (np.array(values) for values in zip(*samples, strict=True))
    assert (q >= robot.lower).all()
    assert (q <= robot.upper).all()
    assert (np.abs(qd) <= robot.velocity_limit).all()
    share = np.abs(dynamics.inverse(q, qd, qdd)).max(axis=0) / robot.effort_limit
    assert (share < 0.75).all()
    assert (share > 0.4).all(), "too gentle to show what dynamics are for"
    assert (np.ptp(q, axis=0) > [1.0, 3.0, 2.0]).all()


def test_the_motion_visits_every_pose_at_rest():
    way = tour()
    assert TOUR[0] == TOUR[-1] == "HOME"
    for name, arrival in zip(TOUR, way.arrivals, strict=True):
        for time in (arrival, arrival + REST / 2, arrival + REST):
            sample = way.trajectory.sample(time)
            np.testing.assert_allclose(sample.q, POSES[name], atol=1e-9)
            np.testing.assert_allclose([sample.qd, sample.qdd], 0.0, atol=1e-8)
        assert way.heading_for(arrival + REST / 2) == name


def test_half_the_speed_takes_twice_the_time_between_poses():
    fast, slow = np.diff(tour().arrivals) - REST, np.diff(tour(0.5).arrivals) - REST
    np.testing.assert_allclose(slow, 2.0 * fast)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture(tmp_path, robot, ending):
    way = tour()
    runs = {name: cut(recorded(way, size * np.ones(3)), way.trajectory) for name, size in (("pd", 0.1), ("mine", 1e-9))}
    draw(tmp_path / f"demo.{ending}", runs, way, robot, "A title")
    content = (tmp_path / f"demo.{ending}").read_bytes()
    assert content.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert len(content) > 20_000
