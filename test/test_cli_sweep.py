# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn sweep`` and ``robodyn tune``: from a file to results, report and gains; mistakes have their lines."""

import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters, read_parameters
from robodyn_ros.simulation.sweeps.backends import in_process
from robodyn_ros.simulation.sweeps.study_reader import read_task
from robodyn_ros.simulation.sweeps.sweep import column
from robodyn_ros.simulation.sweeps.tuning import Score, Tuned, unseen, with_gains

ROOT = Path(__file__).parents[1]

STUDY = f"""\
arm: {ROOT / "urdf/rr.urdf"}
controllers: [pd, computed_torque]
motion:
  to: [[0.5, -0.4]]
  duration: 0.3
  rest: 0.2
simulator:
  friction:
    elbow: {{coulomb: 0.3, viscous: 0.1}}
controller:
  gains.shoulder: {{natural_frequency: 8.0}}
vary:
  arm.forearm.mass: {{uniform: [1.8, 2.2]}}
  simulator:
    state_delay: {{uniform: [0.0, 0.004]}}
  simulator.sensors.elbow.position_noise: {{choice: [0.0, 1.0e-4]}}
sampling: {{cases: 8, seed: 2}}
specification:
  peak_error: {{shoulder: 0.05, elbow: 0.1}}
  settled: true
  settle_band: 0.05
tune:
  natural_frequency: {{shoulder: [5, 40], elbow: [0, 60]}}
  controllers: [computed_torque]
  cases: 6
  unseen: 12
  generations: 1
  population: 3
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "quick.yaml"
    path.write_text(STUDY)
    return path


def test_a_sweep_its_report_and_one_of_its_cases(study, tmp_path, command):
    out = tmp_path / "out"
    said = command.json("sweep", study, "--workers", "0", "--out", out, code=1)
    assert {name: each["cases"] for name, each in said["controllers"].items()} == {"pd": 8, "computed_torque": 8}
    assert said["controllers"]["pd"]["met"] == 0  # a spring alone sags
    assert column(out / "results.parquet", "met").sum() == sum(each["met"] for each in said["controllers"].values())
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("computed_torque", "arm.forearm.mass", "data:image/png;base64,"))
    explained = page.split("Fraction of the variance")[1].split("</table>")[0]
    assert re.search(r"arm\.forearm\.mass.*?\d+\.\d %", explained, re.DOTALL)
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    row = command.json("sweep", study, "--case", "5", "--plot", tmp_path / "case.png", code=None)
    kept = parquet.read_table(out / "results.parquet").to_pylist()[5]
    assert row == {name: None if value != value else value for name, value in kept.items()}
    assert (tmp_path / "case.png").read_bytes().startswith(b"\x89PNG")
    told = command.out("sweep", study, "--case", "5", code=None)
    assert re.search(r"rms_error/elbow +\S+ rad\n", told) and re.search(r"rms_effort/elbow +\S+ N·m\n", told)
    assert "--resume" in command.error("sweep", study, "--workers", "0", "--out", out)
    told = command.out("sweep", study, "--workers", "0", "--out", out, "--resume", "--no-report", code=None)
    assert "Probability" in told and "arm.forearm.mass" in told


@pytest.mark.parametrize(
    ("right", "wrong", "line", "said"),
    [
        *(
            ("arm: ", f"arm: {value}  # ", 1, f"arm: must be the path of a URDF, seen from this file, not {value}")
            for value in ("['rr']", "''")
        ),
        ("duration: 0.3", "duratoin: 0.3", 5, "motion.duratoin: is unknown (is it 'duration'?)"),
        ("duration: 0.3", "duration: -1", 5, "motion.duration: must be within [0.01, 3600] s, not -1.0"),
        ("[0.5, -0.4]", "[0.5]", 4, "motion.to: must be a list of poses, each of 2 numbers (shoulder, elbow)"),
        ("[0.5, -0.4]", "0.5", 4, "motion.to: must be a list of poses, each of 2 numbers (shoulder, elbow)"),
        ("[0.5, -0.4]", "[0.5, 9]", 4, "motion.to: joint 'elbow' at 9 is outside its limits"),
        ("[pd, computed_torque]", "[pd, computed_tork]", 2, "'computed_tork' is unknown (is it 'computed_torque'?)"),
        ("coulomb: 0.3", "coulumb: 0.3", 9, "(is it 'friction.elbow.coulomb'?)"),
        ("coulomb: 0.3", "coulomb: -0.3", 9, "must be within [0, 1e+09]"),
        ("forearm.mass", "foreram.mass", 13, "(is it 'arm.forearm.mass'?)"),
        ("[1.8, 2.2]", "[2.8, 2.2]", 13, "must be [least, greatest], not [2.8, 2.2]"),
        ("{uniform: [1.8, 2.2]}", "{gamma: [1.8, 2.2]}", 13, "must be one of uniform: [least, greatest]"),
        ("0.004]", "4]", 15, "vary.simulator.state_delay: must be within [0, 1] s, not 4.0"),
        ("state_delay", "state_deley", 15, "(is it 'simulator.state_delay'?)"),
        ("cases: 8", "cases: 0", 17, "sampling.cases: must be a whole number"),
        ("settled: true", "settled: 3", 20, "must be true or false"),
        ("settled: true", "settled: true\n  settled: true", 21, "is given twice, first in line 20"),
        ("peak_error: {shoulder", "peak_error: {shuolder", 19, "specification.peak_error.shuolder: is unknown"),
        ("shoulder: 0.05", "shoulder: .inf", 19, "must be a number above 0, not inf"),
        ("shoulder: 0.05", "shoulder: 0", 19, "must be a number above 0, not 0"),
        ("{cases: 8, seed: 2}", "{cases: 8, seed: 2", 18, "YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(right, wrong, line, said, study, command):
    assert STUDY.count(right) == 1
    study.write_text(STUDY.replace(right, wrong))
    error = command.error("sweep", study)
    assert error.startswith(f"error: {study}:{line}: ")
    assert said in error


def test_each_controller_is_set_up_before_the_sweep(study, command):
    text = STUDY.replace("[pd, computed_torque]", "[pd, operational_space]")
    study.write_text(text.replace("controller:\n", "controller:\n  operational_space.force_directions: north\n"))
    assert f"{study}:11: controller.operational_space.force_directions: must be" in command.error("sweep", study)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--case", "16"], "--case: must be from 0 to 15"),
        (["--plot", "case.png"], "--plot: is of use with --case only"),
        (["--case", "1", "--resume"], "--resume: is of use without --case only"),
        (["--workers", "-1"], "--workers: must be from 0 to 1024"),
        (["--scheduler", "head"], "'head' is no address of a scheduler: tcp://host:port"),
    ],
)
def test_a_wrong_command_line(arguments, said, study, command):
    assert said in command.error("sweep", study, *arguments)


def test_without_its_extra_it_says_so(study, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "robodyn_ros[sweep]" in command.error("sweep", study)


def test_ctrl_c_keeps_what_is_done(study, tmp_path, capsys, monkeypatch):
    """Broken off after the first part."""

    def breaks_off(given, todo):
        for done in in_process(given, todo):
            yield done
            raise KeyboardInterrupt

    out, arguments = tmp_path / "out", ["sweep", str(study), "--no-report", "--workers", "0", "--out"]
    with monkeypatch.context() as patched:
        patched.setattr("robodyn_ros.cli.sweep.choose_backend", lambda args: nullcontext(breaks_off))
        assert main([*arguments, str(out)]) == 130
    error = capsys.readouterr().err
    assert f"The results so far are in {out}; continue with --resume." in error
    assert len(list((out / "parts").glob("*.parquet"))) == 1
    assert main([*arguments, str(out), "--resume"]) == 1
    assert len(column(out / "results.parquet", "case")) == 16


def test_tuned_gains_are_better_on_cases_that_nobody_saw_and_the_node_loads_them(study, tmp_path, capsys, monkeypatch):
    file = tmp_path / "tuned.yaml"
    code = main(["tune", str(study), "--out", str(file), "--workers", "0", "--json"])
    said = json.loads(capsys.readouterr().out)
    before, after = said["before"], said["after"]
    assert (before["cases"], after["cases"]) == (12, 12)
    assert after["violation"] < before["violation"]
    assert after["met"] > before["met"]
    assert code == 0 and after["violation"] <= 0.0
    assert 5.0 <= said["gains"]["shoulder"]["natural_frequency"] <= 40.0
    # What the node makes of the file is what was tuned.
    robot = rd.load_robot(ROOT / "urdf/rr.urdf")
    values = FileParameters(read_parameters(file, "controller"), loop_default_values(robot))
    law = make_loop_settings(values, rd.create_dynamics("rnea", robot)).controller
    assert values.unused() == []
    omega = np.array([said["gains"][name]["natural_frequency"] for name in robot.joint_names])
    np.testing.assert_allclose(law.kp, omega**2, rtol=1e-12)
    missed = Score(0.01, 0.2, 11, 12)
    monkeypatch.setattr("robodyn_ros.cli.tune.tune", lambda *_: [Tuned("computed_torque", said["gains"], missed, 1)])
    monkeypatch.setattr("robodyn_ros.cli.tune._compare", lambda *_: [missed, missed])
    assert main(["tune", str(study), "--out", str(file), "--workers", "0"]) == 1


def test_what_meets_the_specification_by_more_is_not_better():
    assert Score(-0.1, 0.2, 12, 12).cost == Score(0.0, 0.2, 12, 12).cost == 0.2 < Score(1e-9, 0.1, 12, 12).cost


def test_a_law_is_tuned_if_the_section_names_it_or_else_if_the_study_does(study):
    whole, task = read_task(study)
    assert task.controllers == ("computed_torque",)
    assert unseen(whole, 8).sampling.seed != whole.sampling.seed
    study.write_text(STUDY.replace("  controllers: [computed_torque]\n", ""))
    assert read_task(study)[1].controllers == ("pd", "computed_torque")
    study.write_text(STUDY.replace("{uniform: [0.0, 0.004]}", "{normal: [0.002, 0.0003]}"))  # whose end is infinite
    assert read_task(study)[1].controllers == ("computed_torque",)


def test_a_gain_that_the_study_gives_and_that_is_not_tuned_is_written_too(study, tmp_path):
    few = STUDY.replace("cases: 6", "cases: 2").replace("unseen: 12", "unseen: 2")
    study.write_text(few.replace("{natural_frequency: 8.0}", "{stiffness: 90.0}").replace("shoulder: [5, 40], ", ""))
    file = tmp_path / "tuned.yaml"
    main(["tune", str(study), "--out", str(file), "--workers", "0", "--json"])
    written = read_parameters(file, "controller")
    assert written["controller"] == "computed_torque"
    assert [written[f"gains.{joint}.stiffness"] for joint in ("shoulder", "elbow")] == [90.0, 0.0]


def test_a_gain_that_varies_and_is_not_tuned_still_varies(study):
    of_elbow = "{damping_ratio: {uniform: [0.5, 1.5]}, natural_frequency: {uniform: [9, 11]}}"
    study.write_text(STUDY.replace("vary:\n", f"vary:\n  controller.gains.elbow: {of_elbow}\n"))
    read, task = read_task(study)
    gains = {"elbow": {"natural_frequency": 20.0, "damping_ratio": 1.0, "integral_rate": 0.0}}
    case = with_gains(read, "computed_torque", task.tuned(gains)).cases(0, 1)[0]
    assert 0.5 <= case.inputs["controller.gains.elbow.damping_ratio"] <= 1.5
    assert "controller.gains.elbow.natural_frequency" not in case.inputs


REPLACED = "natural_frequency: of joint 'elbow' has no effect, because gains.elbow.stiffness is used in place of it"
REFUSED = ":23: tune.natural_frequency: of joint 'elbow' must be within [0, 1000] rad/s, not"
BOUNDS = "must be [least, greatest], from 0 up, not"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("gains.shoulder: {natural_frequency: 8.0}", "gains.elbow: {stiffness: 90.0}", REPLACED),
        ("vary:\n", "vary:\n  controller.gains.elbow.stiffness: {uniform: [50.0, 90.0]}\n", REPLACED),
        ("elbow: [0, 60]", "elbow: [0, 2000]", f"{REFUSED} 2000.0"),
        ("elbow: [0, 60]", "elbow: [0, .inf]", f"{REFUSED} inf"),
        *(("[5, 40]", wrong, BOUNDS) for wrong in ("[5, 40, 60]", "[5, high]", "[40, 5]", "7")),
    ],
)
def test_gains_that_cannot_be_tuned_are_not_searched_for(study, command, right, wrong, said):
    study.write_text(STUDY.replace(right, wrong))
    assert said in command.error("tune", study)


def test_a_study_without_a_section_tune(study, command):
    study.write_text(STUDY.partition("tune:")[0])
    assert "must name least and greatest values of one or more of natural_frequency" in command.error("tune", study)
