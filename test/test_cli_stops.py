# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a user is told first: when a simulated controller stops, and when nothing moves; and what is not accepted."""

import logging
import re
from pathlib import Path

import numpy as np
import pytest
from recordings import table

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.trial_run import run_trial
from robodyn_ros.tasks import make_loop, make_simulated

ROOT = Path(__file__).parents[1]
PRR = str(ROOT / "urdf/prr.urdf")
GOAL = (1.0, 1.0, 1.0)
HEAVY = {"mismatch.mass_scale": 10.0}

STUDY = f"""
arm: {PRR}
motion: {{to: [{list(GOAL)}], duration: 1.5}}
vary: {{simulator.mismatch.payload_mass: {{uniform: [20.0, 30.0]}}}}
simulator: {{mismatch.mass_scale: 10.0}}
sampling: {{cases: 4}}
specification: {{rms_error: 0.1}}
tune: {{natural_frequency: [5.0, 6.0], population: 5, generations: 1, cases: 1, unseen: 2}}
"""


def first_fault() -> tuple[float, str]:
    """When the loop of the simulated heavy arm has its first fault [s], and its kind, by asking the loop itself."""
    robot = rd.load_robot(PRR)
    hardware, _ = make_simulated(HEAVY, robot)
    loop, _ = make_loop({"controller": "computed_torque", "plausibility": False}, robot)
    loop.start(0.0, hardware.plant.q)
    loop.follow(rest_to_rest(np.array([hardware.plant.q, GOAL]), [0.0, 1.5]), 0.0)
    seen: list[tuple[float, str]] = []

    def look(t: float) -> None:
        if not seen and loop.fault is not None:
            seen.append((t, loop.fault.kind))

    run_trial(hardware, loop, 1.5, look)
    return seen[0]


def test_simulate_says_first_when_and_why_the_controller_stopped(command):
    to = ",".join(map(str, GOAL))
    line = ["simulate", PRR, "--to", to, "--duration", "1.5", "--mass-scale", "10"]
    first = command.out(*line, code=1).splitlines()[0]
    assert "joint 'elevator' stands although" in first
    assert "compare the arm with its model (mass_scale" in first
    line += ["-p", "plausibility:=false"]
    first, *rest = command.out(*line, code=1).splitlines()
    t, kind = first_fault()
    assert kind == "following"
    said = re.fullmatch(r"stopped at t = (\S+) s: joint 'wrist' is .* allowed, because (.*)\. Remedy: (.*)", first)
    assert said is not None
    assert float(said[1]) == pytest.approx(t, abs=2e-3)
    assert "effort was at its limit at elevator (600 N)" in said[2]
    assert "move more slowly" in said[3]
    assert "nan" not in "\n".join(rest)
    assert command.json(*line, code=1)["stopped"] == first
    weaker = command.json(*line, "-p", "effort_limits.elevator:=500.0", code=1)
    assert "effort was at its limit at elevator (500 N)" in weaker["stopped"]
    assert weaker["joints"][0]["effort_limit"] == 500.0


def test_a_state_that_is_never_used_stops_the_arm_from_the_beginning(command):
    first = command.out("simulate", PRR, "--duration", "0.5", "-p", "state_delay:=0.2", code=1).splitlines()[0]
    assert first.startswith("stopped: no usable joint states for 0.102 s")
    assert "lower state_delay" in first


def test_what_does_not_stop_says_nothing_of_it(command):
    assert "stopped" not in command.out("simulate", PRR, "--duration", "0.1")


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_sweep_whose_cases_all_stop_says_so_first_and_nothing_of_nan(study, command):
    out = command.out("sweep", "study.yaml", "--workers", "0", code=1)
    first = out.splitlines()[0]
    assert re.match(
        r"computed_torque: 4 of 4 cases did not run to their end\. Case 0 stopped at t = \S+ s: joint", first
    )
    assert "Remedy: " in first
    page = (study / "study/report.html").read_text(encoding="utf-8")
    text = re.sub(r"base64,[^\"]*", "", page)
    for said in (out, text):
        assert not re.search(r"\bnan\b", said)
        assert "latched" not in said
    assert "of the variance" not in text  # of too few cases there is no empty table of inputs
    assert text.index("4 of 4 cases did not run to their end") < text.index("4 cases (")
    assert re.search(r"4 cases \(\w+, seed \d+\) for computed_torque, ", text)
    t = float(re.search(r"Case 0 stopped at t = (\S+) s", first)[1])
    assert command.out("sweep", "study.yaml", "--case", "0", code=1).startswith(f"stopped at t = {t:.3g} s: joint ")


def test_tune_says_first_that_the_tuned_gains_stop(study, command):
    before, after, *rest = command.out("tune", "study.yaml", "--workers", "0", code=1).splitlines()
    assert before.startswith(
        "computed_torque, as in the study: 2 of 2 cases did not run to their end. Case 0 stopped at"
    )
    assert after.startswith("computed_torque, tuned: 2 of 2 cases did not run to their end. ")
    assert not re.search(r"\bnan\b|\binf\b", "\n".join(rest))


@pytest.mark.parametrize("verb", ["sweep", "tune"])
def test_a_study_takes_joints_by_option_and_by_its_own_key(verb, study, command):
    """One joint: what a study says of another is refused, and the poses have one number."""
    for text, more in (("", ["--joints", "wrist"]), ("joints: [wrist]\n", [])):
        (study / "study.yaml").write_text(text + STUDY, encoding="utf-8")
        assert "each of 1 numbers (wrist)" in command.error(verb, "study.yaml", *more)
    (study / "study.yaml").write_text("joints: wrist\n" + STUDY, encoding="utf-8")
    assert "study.yaml:1: joints: must be a list of names" in command.error(verb, "study.yaml")


def test_a_name_in_a_file_that_no_node_knows_is_said_with_its_line(tmp_path, capsys):
    (tmp_path / "own.yaml").write_text("/**:\n  ros__parameters:\n    qwertz_uiop: 3\n    natural_frequncy: 9\n")
    assert main(["simulate", PRR, "--duration", "0.1", "--params", str(tmp_path / "own.yaml")]) == 0
    said = "".join(capsys.readouterr().err.split("\n"))
    assert said.startswith("warning: not used here, either misspelt or for another node: ")
    assert f"{tmp_path}/own.yaml:3: 'qwertz_uiop'" in said
    assert f"{tmp_path}/own.yaml:4: 'natural_frequncy' (is it 'gains.elevator.natural_frequency'?)" in said


def test_export_takes_the_joints_of_a_parameter_file(tmp_path, command):
    (tmp_path / "own.yaml").write_text("/**:\n  ros__parameters: {joints: [shoulder, wrist]}\n")
    line = ["export", PRR, "--language", "c", "--of", "step", "--out", "-"]
    code, by_file, err = command(*line, "--params", tmp_path / "own.yaml")
    assert code == 0 and "not used here" not in err
    assert command.out(*line, "--joints", "shoulder,wrist") == by_file


@pytest.mark.parametrize("verb", ["sweep", "tune"])
@pytest.mark.parametrize("arm", [PRR, "prr", "nowhere.urdf"])
def test_a_verb_of_studies_says_that_an_arm_is_none(verb, arm, command):
    said = command.error(verb, arm)
    assert f"{verb} takes a study, not an arm" in said
    assert f"robodyn simulate {arm}" in said


def test_a_warning_about_the_arm_of_a_study_is_one_line(study, command):
    text = Path(PRR).read_text(encoding="utf-8")
    Path("arm.urdf").write_text(text.replace("<limit ", '<limit colour="red" ', 1), encoding="utf-8")
    Path("study.yaml").write_text(STUDY.replace(PRR, "arm.urdf"), encoding="utf-8")
    (line,) = command("sweep", "study.yaml", "--case", "0")[2].splitlines()
    assert line.startswith("warning: ") and "colour of <limit>" in line


def test_a_verb_of_arms_says_that_a_study_is_none(study, command):
    assert "a study is run by robodyn sweep study.yaml" in command.error("simulate", "study.yaml")
    assert "study: cannot be read: No such file or directory (is it 'study.yaml'?)" in command.error("sweep", "study")


def test_the_mismatch_has_one_name_as_an_option_and_as_a_parameter(command):
    for verb in (["simulate", PRR, "--duration", "0.2"], ["compare", PRR, "--controller", "pd"]):
        found = []
        for given in (["--mass-scale", "1.2"], ["-p", "mismatch.mass_scale:=1.2"], []):
            out = command.json(*verb, *given)
            found.append(out["joints"] if verb[0] == "simulate" else out["trajectory"])
        assert found[0] == found[1] != found[2]


def test_moving_links_without_mass_are_named(tmp_path, command):
    text = Path(PRR).read_text(encoding="utf-8")
    for link in ("carriage", "arm"):
        text = re.sub(rf'(<link name="{link}">.*?)<inertial>.*?</inertial>', r"\1", text, count=1, flags=re.DOTALL)
    names = [body.name for body in rd.load_robot(text).bodies if body.inertial.mass == 0.0]
    assert len(names) == 2
    path = tmp_path / "light.urdf"
    path.write_text(text, encoding="utf-8")
    code, _, err = command("simulate", path, "--duration", "0.1")
    assert code == 0 and f"warning: links {', '.join(names)} move and have no mass" in err
    path.write_text(re.sub("<inertial>.*?</inertial>", "", text, flags=re.DOTALL), encoding="utf-8")
    code, _, err = command("workspace", path, "--samples", "100", "--plot", tmp_path / "map.png")
    assert code == 0 and "warning" not in err


def test_identify_says_where_the_arm_stood_still(tmp_path, command):
    t = np.arange(0.0, 20.0, 0.01)
    path, names = tmp_path / "run.csv", ("elevator", "shoulder", "wrist")
    effort = np.random.default_rng(1).normal(size=(len(t), 3))
    for end, said in ((2.0, True), (12.0, False)):
        moving = np.where(t < end, np.sin(2.0 * np.pi * t), 0.0)
        table(path, names, 100.0 + t, position=np.tile(0.1 + 0.1 * moving[:, None], 3), effort=effort)
        told = " ".join(command("identify", PRR, path)[2].split())
        assert ("run.csv: the arm rests from t = 1.99 s of 20 s on" in told) == ("the arm rests" in told) == said
    table(path, names, t, position=np.full(effort.shape, 0.1), effort=effort)
    said = command.error("identify", PRR, path)
    assert "no joint moves by more than" in said
    assert "such as that of `robodyn excite`" in said


def test_progress_is_lines_where_the_output_is_piped(monkeypatch, capsys):
    from threading import Event

    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    from robodyn_ros.cli import console

    monkeypatch.setattr(console, "PERIOD", 0.02)
    said = Event()

    plain = console._Console.print

    def told(self, *objects, **how):
        plain(self, *objects, **how)
        said.set()

    monkeypatch.setattr(console._Console, "print", told)
    with console.progress_bar(TextColumn("cases"), BarColumn(), MofNCompleteColumn()) as shown:
        task = shown.add_task("", total=8)
        shown.update(task, completed=3)
        assert said.wait(10.0)
    assert re.fullmatch(r"(cases 3/8 \(\d+ s\)\n)+", capsys.readouterr().err)
    said.clear()
    with console.waiting("measuring"):
        assert said.wait(10.0)
    assert re.fullmatch(r"(measuring \(\d+ s\)\n)+", capsys.readouterr().err)
    with console.preparing("preparing panda"):
        log = logging.getLogger("robodyn_ros")
        log.info("compiling %s", "gravity")
        said.clear()
        assert said.wait(10.0)
        log.warning("no compiler")
    log.info("compiling nothing")
    pattern = (
        r"(preparing panda \(\d+ s\)\n)*(compiling gravity \(\d+ s\)\n)+warning: no compiler\n(compiling gravity.*\n)*"
    )
    assert re.fullmatch(pattern, capsys.readouterr().err)
    said.clear()

    def search(*args, progress, **how):  # a try takes a minute: of one try, a percentage stayed at 0 for so long
        assert said.wait(10.0)
        raise InputError("start", "is refused")

    monkeypatch.setattr("robodyn_ros.cli.excite.excite", search)
    main(["excite", PRR, "--tries", "2"])
    assert "searching for a motion, tries 0/2 (" in capsys.readouterr().err


def test_a_trial_that_c_ends_for_no_reason_was_interrupted(monkeypatch):
    """Python loses the exception of a handler that runs as C calls a function, whose result is then any number."""
    hardware, _ = make_simulated({}, rd.load_robot(PRR))
    ended = 2  # of the enumeration in trial.c
    monkeypatch.setattr("robodyn_ros.simulation.trial_run.trial_function", lambda n: lambda address: ended)
    with pytest.raises(KeyboardInterrupt):
        run_trial(hardware, None, 0.1)
