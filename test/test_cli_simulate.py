# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn simulate``: what it writes is what happened, and is read again by others."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fork_server
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.cli.arm import requested_trajectory
from robodyn_ros.cli.verb import gather
from robodyn_ros.simulation.trial_run import run_trial
from robodyn_ros.tasks import make_loop, make_simulated

ROOT = Path(__file__).parents[1]
PRR, CONFIG = str(ROOT / "urdf" / "prr.urdf"), str(ROOT / "config" / "prr.yaml")
ROBOT = rd.load_robot(PRR)

HARD = ["seed:=5", "state_delay:=0.003", "command_delay:=0.0015", "sensors.shoulder.position_noise:=1.0e-4"]
"""Hardware that differs from the ideal."""


def robodyn(folder, *arguments, **environment):
    """The command's output."""
    if environment:  # what a process reads when it starts
        command = [sys.executable, "-m", "robodyn_ros.cli.main", "simulate", *map(str, arguments)]
        env = {**os.environ, **environment}
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    else:
        done = fork_server.robodyn("simulate", *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trial():
    """What the command with the same options does, by the library."""
    given = gather([Path(CONFIG)], HARD)
    hardware, _ = make_simulated(given["simulator"], ROBOT)
    loop, _ = make_loop(given["controller"], ROBOT)
    loop.start(0.0, hardware.plant.q)
    way = requested_trajectory(
        ["0.3,-0.5,0.4", "shoulder=0.2"], False, 1.0, ROBOT, hardware.plant.q, ROBOT.velocity_limit
    )
    loop.follow(way, 0.0)
    return run_trial(hardware, loop, 1.0)


def arguments(*more):
    given = [part for text in HARD for part in ("-p", text)]
    way = ["--to", "0.3,-0.5,0.4", "--to", "shoulder=0.2", "--duration", 1]
    return [PRR, "--params", CONFIG, *given, *way, *more]


def test_csv_has_units_and_every_digit(tmp_path, trial):
    said = robodyn(tmp_path, *arguments("--out", "run.csv", "--plot", "run.png"))
    assert "elevator" in said and "run.csv" in said
    assert (tmp_path / "run.png").stat().st_size > 20000
    with open(tmp_path / "run.csv", newline="") as file:
        heading, *rows = csv.reader(file)
    columns = {name: [row[index] for row in rows] for index, name in enumerate(heading)}
    assert len(rows) == 501
    for index, joint in enumerate(ROBOT.joints):
        for name, unit, samples, key in (
            ("position", joint.position_unit, trial.truth, "q"),
            ("velocity", f"{joint.position_unit}/s", trial.truth, "qd"),
            ("effort", joint.effort_unit, trial.truth, "effort"),
        ):
            column = np.array(columns[f"{joint.name}/{name} [{unit}]"], dtype=float)
            assert np.array_equal(column, samples.values[key][:, index])
        measured = columns[f"{joint.name}/measured_position [{joint.position_unit}]"]
        assert measured[:2] == ["", ""]  # nothing has come within the first 3 ms
        at = int(np.flatnonzero(trial.states.t <= 0.1 + 1e-9)[-1])
        assert float(measured[50]) == trial.states.values["q"][at, index]
    assert np.array_equal(np.array(columns["time [s]"], dtype=float), trial.truth.t)
    final = [float(columns[f"{joint.name}/position [{joint.position_unit}]"][-1]) for joint in ROBOT.joints]
    np.testing.assert_allclose(final, [0.3, 0.2, 0.4], atol=0.02)


@pytest.mark.parametrize(("name", "files"), [("run.mcap", ["run.mcap"]), ("bag", ["bag.db3", "metadata.yaml"])])
def test_bags_hold_the_same_numbers(tmp_path, trial, name, files):
    from rosbags import rosbag2
    from rosbags.typesys import Stores, get_typestore

    robodyn(tmp_path, *arguments("--out", name))
    path = tmp_path / name
    assert [file.name for file in sorted(path.iterdir())] == files if path.is_dir() else [path.name] == files
    assert sorted(tmp_path.iterdir()) == [path]  # nothing is left beside it
    types = get_typestore(Stores.ROS2_KILTED)
    found: dict[str, list] = {}
    with rosbag2.Reader(path) as reader:
        for connection, time, data in reader.messages():
            message = types.deserialize_cdr(data, connection.msgtype)
            found.setdefault(connection.topic, []).append((time, message))
    assert found["/robot_description"][0][1].data == ROBOT.urdf
    for topic, samples, fields in (
        ("/joint_states", trial.states, {"position": "q", "velocity": "qd", "effort": "effort"}),
        ("/controller/joint_commands", trial.commands, {"effort": "effort"}),
        ("/controller/reference", trial.commands, {"position": "q", "velocity": "qd"}),
        ("/simulator/truth", trial.truth, {"position": "q", "velocity": "qd", "effort": "effort"}),
    ):
        messages = found[topic]
        assert len(messages) == len(samples.t)
        assert [time for time, _ in messages] == np.round(samples.t * 1e9).astype(int).tolist()
        stamps = [message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for _, message in messages]
        assert stamps == np.round(samples.stamp * 1e9).astype(int).tolist()
        assert all(message.name == list(ROBOT.joint_names) for _, message in messages)
        for field, key in fields.items():
            assert np.array_equal([getattr(message, field) for _, message in messages], samples.values[key])
    delays = [time - message.header.stamp.nanosec for time, message in found["/joint_states"][:100]]
    assert set(delays) == {3_000_000}


def test_without_ros_and_without_a_controller(tmp_path):
    """Nobody commands: the arm falls as it must, and no module of ROS is looked for."""
    code = "import sys\nfor name in ('rclpy', 'sensor_msgs', 'std_msgs'):\n    sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(code)
    start = ["-p", "initial_position.elevator:=2.0"]
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    said = robodyn(
        tmp_path, PRR, "--controller", "none", "--duration", 0.5, *start, "--out", "fall.csv", "--json", PYTHONPATH=path
    )
    report = json.loads(said)
    assert report["commands"] == 0 and report["states"] == 251
    rows = list(csv.DictReader((tmp_path / "fall.csv").read_text().splitlines()))
    height = np.array([float(row["elevator/position [m]"]) for row in rows])
    t = np.array([float(row["time [s]"]) for row in rows])
    np.testing.assert_allclose(height, 2.0 - 0.5 * 9.81 * t**2, atol=1e-9)  # upright, the arm falls as one mass


def test_the_tour_and_the_figures(tmp_path):
    report = json.loads(robodyn(tmp_path, PRR, "--params", CONFIG, "--tour", "--json"))
    assert report["faults"] == {}
    assert [joint["joint"] for joint in report["joints"]] == list(ROBOT.joint_names)
    for joint in report["joints"]:
        assert 0.0 < joint["error_rms"] < 5e-3
        assert joint["error_rms"] <= joint["error_greatest"]
        assert joint["effort_greatest"] <= joint["effort_limit"]


def test_without_a_duration_a_motion_takes_as_long_as_its_speed_needs(command):
    still, poses = np.zeros(3), ["0.3,1,0", "0,0.2,0"]
    for speed, duration in (([0.5, 0.1, 4.0], 37.5), (ROBOT.velocity_limit, 10.0), ([0.0, np.inf, np.inf], 10.0)):
        found = requested_trajectory(poses, False, None, ROBOT, still, np.array(speed))
        assert found.duration == pytest.approx(duration)  # of two segments, which take as long as the longest, 1 rad
    slow = ["simulate", PRR, "--to", "shoulder=1", "-p", "velocity_limits.shoulder:=0.1", "--json"]
    code, out, _ = command(*slow)
    assert code == 0 and json.loads(out)["faults"] == {}
    assert "--duration: is too short" in command.error(*slow, "--duration", "18")


@pytest.mark.parametrize(
    ("given", "wrist"),
    [({}, 3600.0), ({"effort_limits.wrist": 20.0}, 2000.0), ({"effort_rate_limits.wrist": 1e301}, np.inf)],
)
def test_an_effort_changes_as_fast_as_on_the_node(given, wrist):
    """From zero to its limit in 10 ms unless given, although the URDF has no such limit."""
    loop, _ = make_loop({"controller": "pd", **given}, ROBOT)
    assert loop.settings.limits.rate.tolist() == [60000.0, 9600.0, wrist]


def test_a_plan_is_simulated_with_its_efforts(command, tmp_path):
    """The file of `robodyn plan --out`, here with the joints in another order. The arm is where it begins."""
    found = rd.plan(ROBOT, to=[0.5, -0.4, 0.6], start=[0.3, -0.2, 0.1]).plan
    parts = {name: getattr(found, name)[:, [2, 0, 1]] for name in ("q", "qd", "qdd", "effort")}
    replace(found, joints=("wrist", "elevator", "shoulder"), **parts).save(tmp_path / "plan.json")
    run = ["simulate", PRR, "--motion", tmp_path / "plan.json", "--controller", "pd"]
    code, out, _ = command(*run, "--json")
    joints = json.loads(out)["joints"]
    assert code == 0
    assert max(joint["error_greatest"] for joint in joints) < 1e-3  # by the efforts, for the gains know no masses
    replace(found, joints=("x", "elevator", "shoulder")).save(tmp_path / "plan.json")
    assert "plan.json is of the joints ['x', 'elevator', 'shoulder'], the arm has" in command.error(*run)
    text = (tmp_path / "plan.json").read_text().replace('"effort"', '"efort"')
    (tmp_path / "plan.json").write_text(text)
    assert "is not a plan of robodyn plan: 'effort'" in command.error(*run)


def test_part_of_the_joints(command, tmp_path):
    """By options, which win over a file, and by the parameters of the nodes: the same trial of two joints."""
    (tmp_path / "own.yaml").write_text("/**: {ros__parameters: {joints: [elevator, shoulder], seed: 3}}")
    chosen = (
        ["--joints", "wrist,shoulder", "--lock", "elevator=0.7", "--params", tmp_path / "own.yaml"],
        ["--lock", "elevator=0.7"],
        ["-p", "joints:=[wrist, shoulder]", "-p", "locked_joints.elevator:=0.7"],
        ["-p", "joints:=[wrist, shoulder]", "-p", "initial_position.elevator:=0.7"],
    )
    line = ("simulate", PRR, "--to", "shoulder=0.4", "--duration", "1")
    figures = [command.json(*line, *given)["joints"] for given in chosen]
    assert [joint["joint"] for joint in figures[0]] == ["shoulder", "wrist"]
    assert figures.count(figures[0]) == 4
    code, _, err = command("simulate", PRR, "--joints", "wrist,shoulder", "--duration", "0.1")
    assert code == 0 and "joint elevator is locked at 1.05, the middle of its range" in err


def test_an_explosion_names_joint_time_and_remedy_and_json_stays_json(command):
    """A fall with 1e10 m/s² is beyond every step."""
    given = ["-p", "gravity:=[0.0, 0.0, -1.0e+10]"]
    found = command.json("simulate", PRR, "--controller", "none", "--duration", "3", *given, code=1)
    ((fault, count),) = found["faults"].items()
    assert count == 1
    said = re.match(
        r"step failed: at (0\.\d+) s: joint '(\w+)' goes beyond .* take a smaller step or lower gains", fault
    )
    assert said is not None and said[2] in ROBOT.joint_names
    assert found["simulated"] <= float(said[1]) <= found["simulated"] + 0.0041  # it ends there: a reading is each 2 ms


def test_a_payload_that_the_controller_knows_is_carried_without_error(tmp_path):
    """A mass at the tool that the model lacks lets the arm sag, and told as payload.* it does not."""
    line = [PRR, "--to", "0.3,-1,0.5", "--json", "-p", "simulator:mismatch.payload_mass:=2"]
    told = ["-p", "payload.mass:=2"]
    unknown, known = (json.loads(robodyn(tmp_path, *line, *more)) for more in ([], told))
    errors = [max(joint["error_greatest"] for joint in found["joints"]) for found in (unknown, known)]
    assert errors[1] < 0.02 * errors[0], errors
