# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""robodyn compare: the ranking that theory says, figures that can be checked, and the published table's command."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import robodyn_ros as rd
from robodyn_ros.cli.compare import _cell
from robodyn_ros.cli.main import main
from robodyn_ros.control.laws.tool import ToolLaw
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import load
from robodyn_ros.simulation import Plant, PlantSettings, comparison
from robodyn_ros.simulation.comparison import LAWS as DEFAULT
from robodyn_ros.simulation.comparison import (
    STEADY,
    ComparedMotion,
    ComparedRun,
    LawComparison,
    compared_motions,
    run_motion,
)

ROOT = Path(__file__).parents[1]
PRR = str(ROOT / "urdf/prr.urdf")
LAWS = ["pd", "gravity_compensation", "computed_torque", "impedance"]
LEARNING = ["disturbance_observer", "adaptive"]


def compared(command, *arguments):
    return command.json("compare", PRR, *arguments)


@pytest.fixture(scope="module")
def exact():
    """Of an arm that is its model."""
    with redirect_stdout(StringIO()) as out:
        assert main(["compare", PRR, "--json"]) == 0
    return json.loads(out.getvalue())


def figure(found, motion, law, name):
    return np.array(found[motion][law][name], dtype=float)


def test_an_exact_model_leaves_nothing_but_pd_sags(exact):
    best, *_, worst = (law for law in exact["scores"] if law not in LEARNING)
    assert (best, worst) == ("computed_torque", "pd")
    assert all(exact["scores"][law] < 2.0 * exact["scores"]["computed_torque"] for law in LEARNING)
    for law in LAWS[1:]:
        assert (figure(exact, "step", law, "steady_state_error") < 1e-5).all()
        assert np.isfinite(figure(exact, "step", law, "settling_time")).all()
    # PD holds with a spring alone: at rest K e = g(q), the elevator's 196.2 N on 20 kg · 12² 1/s² are 68.1 mm.
    np.testing.assert_allclose(figure(exact, "step", "pd", "steady_state_error")[0], 196.2 / (20 * 144), rtol=1e-4)
    for law in ("computed_torque", "impedance"):
        assert (figure(exact, "trajectory", law, "rms_error") < 1e-3).all()


def test_the_table_under_wrong_masses_and_an_unknown_payload(command):
    """What lasts of the elevator's error follows by hand: load that the law does not know over stiffness."""
    found = compared(command, "--mass-scale", "1.1", "--payload", "1")
    assert list(found["trajectory"]) == LAWS + LEARNING
    assert all(found["scores"][law] < 0.5 * found["scores"]["computed_torque"] for law in LEARNING)
    load = (20 * 1.1 + 1) * 9.81
    stiffness = 20 * 144.0
    steady = {law: figure(found, "step", law, "steady_state_error")[0] for law in LAWS}
    np.testing.assert_allclose(steady["pd"], load / stiffness, rtol=1e-4)
    np.testing.assert_allclose(steady["impedance"], (load - 196.2) / stiffness, rtol=1e-3)
    assert (
        figure(found, "trajectory", "pd", "rms_error") > figure(found, "trajectory", "impedance", "rms_error")
    ).all()
    assert list(found["scores"])[-1] == "pd"
    assert "model lacks" in found["arm"]


def test_an_integral_takes_away_what_lasts(command):
    wrong = ("--mass-scale", "1.1", "--payload", "1", "--controller", "impedance")
    without = figure(compared(command, *wrong), "step", "impedance", "steady_state_error")
    with_it = figure(compared(command, *wrong, "--integral-rate", "3"), "step", "impedance", "steady_state_error")
    assert (with_it < 0.05 * without).all()


def test_gravity_and_effort_limits_are_the_parameters(command):
    """Under half of the gravity PD sags by half; a limit below what that needs is met."""
    given = ("--controller", "pd", "-p", "gravity:=[0.0, 0.0, -4.905]")
    found = compared(command, *given)
    np.testing.assert_allclose(figure(found, "step", "pd", "steady_state_error")[0], 98.1 / (20 * 144), rtol=1e-4)
    assert figure(found, "step", "pd", "peak_effort")[0] > 130.0
    limited = (*given, "-p", "effort_limits.elevator:=120.0")
    assert figure(compared(command, *limited), "step", "pd", "peak_effort")[0] == 120.0
    row = next(line for line in command.out("compare", PRR, *limited).splitlines() if line.startswith("   elevator"))
    assert row.split()[-3:] == ["120", "N", "100%"]


def test_tables_verdict_and_picture(command, tmp_path):
    picture = tmp_path / "laws.png"
    arguments = ["--controller", "gravity_compensation,impedance", "--plot", str(picture)]
    out = command.out("compare", ROOT / "urdf/rr.urdf", *arguments)
    assert max(map(len, out.splitlines()[:-1])) <= 80  # the last is the path of the picture
    assert "follows best" in out
    assert "gravity_compensation" in out  # in one piece
    with Image.open(picture) as image:
        colours = image.convert("RGB").getcolors(1 << 24)
        assert image.width > 1000
    drawn = {colour for _, colour in colours}
    assert {(0xE6, 0x9F, 0x00), (0x00, 0x9E, 0x73)} <= drawn  # each law in its own colour


def test_the_motions_are_within_their_limits():
    """Half of each range, up to 35 % of a velocity limit, or one velocity limit a second; a step of 3 %."""
    text = Path(PRR).read_text()
    quick = re.sub(r'velocity="[\d.]+"', 'velocity="50"', text)
    for urdf, of, greatest in ((text, "qd", 0.35), (quick, "qdd", 1.0)):
        robot = rd.load_robot(urdf)
        step, way = compared_motions(robot)
        along = np.abs([getattr(way.reference(t), of) for t in np.linspace(0.0, way.duration, 4001)])
        assert (along / robot.velocity_limit).max() == pytest.approx(greatest, rel=1e-3)
        np.testing.assert_allclose([step.size, way.size], np.outer([0.03, 0.5], robot.upper - robot.lower))
        np.testing.assert_allclose(step.reference(0.0).q, step.start + step.size)


def test_a_joint_whose_range_is_one_point_counts_for_nothing():
    """It stays where it is: no error relative to its distance, which is 0, and it has settled."""
    text = Path(PRR).with_name("rr.urdf").read_text()
    text = re.sub('lower="[^"]*" upper="[^"]*"', 'lower="0.3" upper="0.3"', text, count=1)
    found = comparison.compare(rd.load_robot(text), ["pd", "computed_torque"])
    assert 0.0 < found.scores()["computed_torque"] < 1e-3 < found.scores()["pd"] < 1.0
    assert np.isfinite(found.settling()["computed_torque"])
    assert found.verdict().startswith("computed_torque follows best, with an RMS error of")


def test_each_effort_acts_for_a_period_of_the_control_rate():
    arm = rd.create_dynamics("rnea", rd.load_robot("prr"))
    motion = compared_motions(arm.robot)[1]
    law = rd.create_controller("pd", arm, 100.0, 20.0)
    run = run_motion(law, Plant(arm, PlantSettings(1e-3)), motion, 200.0)
    np.testing.assert_allclose(run.t, np.arange(len(run.t)) / 200.0, atol=1e-9)
    assert run.t[-1] == pytest.approx(motion.duration, abs=0.005)
    np.testing.assert_array_equal(run.q[0], motion.start)
    np.testing.assert_allclose(run.reference[-1], motion.reference(motion.duration).q, atol=1e-3)


@pytest.mark.parametrize("rate", [300.0, 2000.0])
def test_the_laws_run_at_the_rate_that_is_given(rate):
    """Also where a period is no whole number of milliseconds, or shorter than one."""
    found = comparison.compare(rd.load_robot("r"), ["computed_torque"], rate=rate)
    np.testing.assert_allclose(np.diff(found.runs[0]["computed_torque"].t), 1.0 / rate)


def test_the_picture_shows_the_effort_limits_in_force():
    found = comparison.compare(rd.load_robot("r"), ["pd"], parameters={"effort_limits.shoulder": 20.0})
    efforts = found.plot()[0, 2]
    assert {20.0, -20.0} <= {y for line in efforts.lines for y in line.get_ydata() if len(line.get_ydata()) == 2}


def test_figures_of_a_run():
    """By hand: an error that decays as exp(-t) is below 2 % of the step from ln 50 on."""
    t = np.linspace(0.0, 8.0, 8001)
    error = np.exp(-t)[:, None]
    run = ComparedRun(t, 1.0 - error, np.ones((8001, 1)), 3.0 * error, np.ones(1))
    motion = ComparedMotion("step", np.zeros(1), 8.0, None, np.ones(1))
    figures = {name: values[0] for name, values in run.figures(motion).items()}
    assert figures["settling_time"] == pytest.approx(np.log(50.0), abs=2e-3)
    assert figures["rms_error"] == pytest.approx(np.sqrt(0.5 / 8.0), rel=1e-2)
    assert figures["peak_error"] == 1.0
    assert figures["steady_state_error"] == pytest.approx((np.exp(STEADY) - 1) / STEADY * np.exp(-8.0), rel=1e-2)
    assert figures["peak_effort"] == 3.0
    assert figures["saturated"] == pytest.approx(np.log(3.0) / 8.0, abs=2e-4)
    never = ComparedRun(t, 1.0 + 0.0 * error, np.ones((8001, 1)), error, np.ones(1))
    assert never.figures(motion)["settling_time"] == [0.0]  # it was never away
    (joint,) = rd.load_robot(ROOT / "urdf/r.urdf").joints
    for limit, said in ((6.0, "50%"), (0.0, "none"), (np.inf, "none")):
        assert _cell("Of the limit", figures | {"limit": limit}, joint) == said


def test_every_law_that_follows_is_compared_by_default():
    laws = {name: load("controllers", name) for name in rd.available("controllers")}
    own = {name for name, law in laws.items() if law.follows and not issubclass(law, ToolLaw)}  # gains of joints
    own.remove("mpc")  # what it answers depends on the time it has to think: compared when asked for
    assert sorted(own) == sorted(DEFAULT)


def comparison_of(*runs):
    """Motions and runs of laws; of each, the errors over the time of its step and of its trajectory are given."""
    t = np.linspace(0.0, 4.0, 4001)
    motions = [ComparedMotion(name, np.zeros(1), 4.0, None, np.ones(1)) for name in ("step", "trajectory")]

    def made(error):
        return ComparedRun(t, 1.0 - error[:, None], np.ones((len(t), 1)), error[:, None], np.full(1, np.inf))

    steps, ways = ({name: made(error[index](t)) for name, error in runs} for index in (0, 1))
    return tuple(motions), (steps, ways)


def test_the_verdict_looks_at_settling_too():
    """By hand: exp(-t) settles within 2 % at ln 50 = 3.91 s, exp(-4 t) at 0.98 s, and an error of 5 % never does."""
    robot = rd.load_robot(
        '<robot name="one"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="turn" type="continuous"><parent link="a"/>'
        '<child link="b"/></joint></robot>'
    )

    def verdict(**errors):
        return LawComparison(robot, "an arm", *comparison_of(*errors.items())).verdict()

    slow, quick, never = (lambda t: np.exp(-t)), (lambda t: np.exp(-4.0 * t)), (lambda t: 0.05 + 0.0 * t)
    little, more = (lambda t: 0.001 + 0.0 * t), (lambda t: 0.002 + 0.0 * t)
    said = verdict(mine=(slow, little), other=(quick, more))
    assert "mine follows best" in said
    assert "it settles within 2% of the step in 3.91 s, other in 0.98 s" in said
    said = verdict(mine=(never, little), other=(quick, more))
    assert "But after a step it never settles within 2% of the step (turn); other does in 0.98 s" in said
    said = verdict(mine=(never, little), other=(never, little))
    assert "But after a step they never settle within 2% of the step (mine: turn)" in said
    others = {"other": (never, more), "third": (never, more), "fourth": (never, more)}
    assert "in 0.98 s; other never does" in verdict(mine=(quick, little), other=(never, more))
    assert "in 0.98 s; other, third and fourth never do" in verdict(mine=(quick, little), **others)


def test_no_law_wins_among_equals():
    """Errors of 0.1 % and 0.104 % are equal, 0.1 % and 0.12 % are not; below 0.03 % all are. It names who settles."""
    robot = rd.load_robot(PRR).reduced(locked={"elevator": 0.3, "wrist": 0.0})

    def verdict(**errors):
        steps = {"slow": lambda t: np.exp(-t), "quick": lambda t: np.exp(-4.0 * t)}
        runs = [(name, (steps[name], lambda t, error=error: error + 0.0 * t)) for name, error in errors.items()]
        return LawComparison(robot, "an arm", *comparison_of(*runs)).verdict()

    said = verdict(slow=1e-3, quick=1.04e-3)
    assert "slow and quick follow equally well, with RMS errors of up to 0.104% of the distance" in said
    assert "After a step quick settles within 2% of the step in 0.98 s." in said
    assert "best" not in said and "times as much" not in said
    said = verdict(slow=1e-3, quick=1.2e-3)
    assert "slow follows best" in said and "quick makes 1.20 times as much" in said
    assert "slow and quick follow equally well" in verdict(slow=1e-6, quick=2.9e-4)
    assert "slow follows best" in verdict(slow=1e-6, quick=3.1e-4)


def test_a_law_that_fails_is_not_judged_and_the_others_are(monkeypatch, command):
    real = comparison.run_motion

    def run_motion(law, plant, motion, rate):
        if type(law).__name__ == "PD" and motion.name == "trajectory":
            raise SimulationError("at 0.31 s: the positions are beyond the range of a simulation")
        return real(law, plant, motion, rate)

    monkeypatch.setattr(comparison, "run_motion", run_motion)
    found = command.json("compare", PRR, "--controller", "pd,impedance", code=1)
    assert list(found["scores"]) == ["impedance"]
    assert found["failures"]["pd"].startswith("trajectory stopped at t = 2.5 s: ")
    assert "No verdict on pd: trajectory stopped at t = 2.5 s" in found["verdict"]
    out = command.out("compare", PRR, "--controller", "pd", code=1)
    assert out.startswith("pd: trajectory stopped at t = 2.5 s: ") and "No verdict on pd" in out


def test_gains_come_from_a_parameter_file(tmp_path, command):
    """At rest K e = g(q): with M ω² for K the elevator's error is g / ω² of its own joint."""
    (tmp_path / "gains.yaml").write_text(
        "/**/controller:\n  ros__parameters:\n    gains:\n      elevator: {natural_frequency: 20, damping_ratio: 1}\n"
    )
    pd = ("--controller", "pd")
    found = compared(command, *pd, "--params", str(tmp_path / "gains.yaml"))
    np.testing.assert_allclose(figure(found, "step", "pd", "steady_state_error")[0], 9.81 / 400.0, rtol=1e-3)
    plain = compared(command, *pd)
    steady = [figure(each, "step", "pd", "steady_state_error")[1:] for each in (found, plain)]
    np.testing.assert_allclose(*steady, rtol=0.05)
    found = compared(command, *pd, "-p", "gains.elevator.natural_frequency:=30")
    np.testing.assert_allclose(figure(found, "step", "pd", "steady_state_error")[0], 9.81 / 900.0, rtol=1e-3)


def test_the_gains_that_are_told_are_those_in_force(command):
    pd = ("compare", ROOT / "urdf/rr.urdf", "--controller", "pd", "--integral-rate", "1")
    assert "rr: an arm like its model; ω = 12 rad/s, ζ = 1, ρ = 1 1/s\n" in command.out(*pd)
    one = "gains.elbow.natural_frequency:=9.5"
    assert "; gains of the parameters\n" in command.out(*pd, "-p", one)
    stiff = [word for name in ("shoulder", "elbow") for word in ("-p", f"gains.{name}.stiffness:=50")]
    assert "; gains of the parameters\n" in command.out(*pd, *stiff)
    all_of_them = ["-p", one, "-p", one.replace("elbow", "shoulder")]
    assert "; ω = 9.5 rad/s, ζ = 1, ρ = 1 1/s\n" in command.out(*pd, *all_of_them)


def test_a_payload_of_the_model_is_none_of_the_arm(command):
    """The arm was called one like its model, and the error one of its masses."""
    known = ["-p", "payload.mass:=0.8"]
    laws = ["--controller", "computed_torque"]
    assert compared(command, *laws, *known)["arm"] == "a payload of 0 kg, of 0.8 kg in the model"
    found = compared(command, *laws, *known, "--payload", "0.8")
    assert found["arm"] == "a payload of 0.8 kg, of 0.8 kg in the model"
    assert found["scores"]["computed_torque"] < 1e-4
