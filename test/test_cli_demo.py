# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The demonstration as a whole: real processes, real DDS, and nothing left behind."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

ROBODYN = [sys.executable, "-m", "robodyn_ros.cli.main", "demo"]
NODES = ("simulator", "controller", "conductor")
MARK = "ROBODYN_TEST"


class Demo:
    """A running demonstration, and all processes that belong to it: each inherits a mark in its environment."""

    def __init__(self, folder, *arguments):
        self.mark = uuid.uuid4().hex
        env = {**os.environ, MARK: self.mark, "TMPDIR": str(folder)}
        self.out, self.err = folder / "out", folder / "err"
        with open(self.out, "w") as out, open(self.err, "w") as err:
            command = [*ROBODYN, "--plot", str(folder / "demo.png"), *arguments]
            self.process = subprocess.Popen(command, env=env, stdout=out, stderr=err, start_new_session=True)

    def others(self):
        """Process id → command line of every process but the command's own."""
        found = {}
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if line and int(folder.name) != self.process.pid:  # one that has ended has no command line left
                        found[int(folder.name)] = line
            except OSError:  # it ended in between, or is another user's
                continue
        return found

    def wait(self, condition, what, deadline=120.0):
        """Wait until the condition holds while the demonstration runs."""
        end = time.monotonic() + deadline
        while not condition():
            assert time.monotonic() < end, f"no {what} within {deadline:g} s:\n{self.err.read_text()}"
            assert self.process.poll() is None, f"it ended before there was {what}:\n{self.err.read_text()}"
            select.select([], [], [], 0.01)

    def running(self, *nodes):
        """Whether these nodes run, past the moment in which they are only about to."""
        lines = [line for line in self.others().values() if "die_with_parent.py" not in line]
        return all(any(f"robodyn_ros.nodes.start {node} " in line for line in lines) for node in nodes)

    def gone(self, deadline=60.0):
        """Wait for the end of every other process; those that have not ended by the deadline [s]."""
        end = time.monotonic() + deadline
        while self.others() and time.monotonic() < end:
            for pid in self.others():
                wait_for_end(pid, end - time.monotonic())
        return self.others()

    def kill(self):
        """Leave nothing behind, whatever happened."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid in self.others():
            os.kill(pid, signal.SIGKILL)


def wait_for_end(pid, timeout):
    """Wait for the end of a process that need not be a child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [], max(0.0, timeout))
    finally:
        os.close(handle)


@pytest.fixture
def demo(tmp_path):
    """Start demonstrations; they are gone afterwards."""
    started = []

    def start(*arguments):
        started.append(Demo(tmp_path, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_main_job(demo, tmp_path):
    job = demo("--json")
    code = job.process.wait(500.0)
    assert code == 0, job.out.read_text() + job.err.read_text()
    assert not job.gone()
    found = json.loads(job.out.read_text())
    assert found["passed"]
    assert found["judged"]
    assert found["failures"] == []
    runs = {run["controller"]: run for run in found["runs"]}
    assert list(runs) == ["pd", "gravity_compensation", "computed_torque"]
    for run in runs.values():
        assert run["broken"] == []
        assert run["lockstep"] or run["state_rate"] > 200.0
        assert run["commands_sent"] > 1000
        assert 0 <= run["commands_lost"] <= 0.05 * run["commands_sent"]
        for joint in run["joints"]:
            assert 0.0 < joint["rms_error"] <= joint["peak_error"]
            assert 0.0 < joint["peak_effort"] <= joint["effort_limit"]
    before, after = runs["pd"]["joints"], runs["computed_torque"]["joints"]
    for old, new in zip(before, after, strict=True):
        assert new["unit"] == ("m" if new["joint"] == "elevator" else "rad")
        assert new["rms_error"] < (2e-3 if new["unit"] == "m" else 5e-3)
        assert new["unit"] == "m" or 10.0 * new["rms_error"] <= old["rms_error"]
    picture = (tmp_path / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert 50_000 < len(picture) < 300_000
    assert {path.name for path in tmp_path.iterdir()} <= {"out", "err", "demo.png"}, "files were left behind"


@pytest.mark.parametrize(
    ("nodes", "number"),
    [((), signal.SIGTERM), (("simulator",), signal.SIGINT), (NODES, signal.SIGTERM), (NODES, signal.SIGINT)],
    ids=["terminated at once", "ctrl-c while it starts", "terminated", "ctrl-c"],
)
def test_an_interrupt_stops_everything(demo, nodes, number):
    job = demo("--controller", "pd")
    job.wait(lambda: job.others() if not nodes else job.running(*nodes), f"{nodes}")
    job.process.send_signal(number)
    assert job.process.wait(60.0) == 128 + number
    assert not job.others(), "a process was left behind"
    assert "Traceback" not in job.err.read_text()


def test_nothing_outlives_a_command_that_is_killed(demo):
    job = demo("--controller", "pd")
    job.wait(lambda: job.running(*NODES), "nodes")
    job.process.kill()
    job.process.wait()
    assert not job.gone(), "a process was left behind"


@pytest.mark.parametrize("node", NODES)
def test_a_node_that_dies_is_an_error_with_its_name(demo, node):
    job = demo("--controller", "pd")
    job.wait(lambda: job.running(*NODES), "nodes")
    victim = next(pid for pid, line in job.others().items() if f"robodyn_ros.nodes.start {node} " in line)
    os.kill(victim, signal.SIGKILL)
    assert job.process.wait(60.0) == 2
    assert not job.others()
    said = job.err.read_text()
    assert f"error: the {node} was killed by SIGKILL" in said
    assert "Traceback" not in said


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_lost_states_break_a_run_however_well_the_law_does(tmp_path):
    """Three of four states are lost on purpose, in lockstep: gaps are long, and no fault begins."""
    from robodyn_ros import load_robot
    from robodyn_ros.cli.arm import OWN_ARM, tour
    from robodyn_ros.cli.demo import run_controller
    from robodyn_ros.cli.demo.figures import evaluate, judge
    from robodyn_ros.cli.processes import isolated
    from robodyn_ros.cli.verb import GivenParameters
    from robodyn_ros.files import find

    robot, motion = load_robot(find(OWN_ARM)), tour().trajectory
    found = {}
    with isolated() as env:
        for name, hardware in (("whole", {}), ("lossy", {"state_drop": 0.75})):
            (tmp_path / name).mkdir()
            given = GivenParameters(values={"simulator": hardware})
            record = run_controller("computed_torque", motion, robot, env, tmp_path / name, lambda _: None, True, given)
            found[name] = evaluate("computed_torque", record, motion, robot)
    assert found["whole"].broken == ()
    assert judge([found["whole"]]).passed
    assert found["lossy"].broken
    assert str(judge([found["lossy"]])).startswith("No verdict: computed_torque: ")
