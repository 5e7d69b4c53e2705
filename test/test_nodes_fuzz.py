# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The storm of `make fuzz-nodes`, a small one: nothing that it counts has happened. And what it counts, it sees."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import drives as arm_drives

ROOT = Path(__file__).parents[1]


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_nothing_happens_in_a_small_storm(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz_nodes.py"), "--scale", "0.004", "--seed", "16", "--json"]
    done = subprocess.run([*command, "--log", str(tmp_path)], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["ended early"], found["ended early"]
    assert set(found["counts"].values()) == {0}, (found, (tmp_path / "controller.log").read_text()[-3000:])
    assert found["sent"] == {"messages": 400, "parameters": 12, "switches": 1, "life_cycles": 4}
    assert found["commands"] > 0.5 * found["states"]
    assert done.returncode == 0


@pytest.fixture
def drives(monkeypatch):
    """The drives without a graph; the test is the controller, and its clock."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    topic = SimpleNamespace(publish=lambda message: None)
    node = SimpleNamespace(create_publisher=lambda *_: topic, create_subscription=lambda *_: None)

    def wait(timeout_sec):
        now[0] += timeout_sec

    made = arm_drives.Drives(node, SimpleNamespace(spin_once=wait), lambda: made.runs)
    made.runs, made.wall, made.expected = True, now, True
    return made


def command(drives, effort, after=0.0):
    message = JointState(name=drives.names, effort=effort)
    stamp = drives.now + after
    message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), round(stamp % 1 * 1e9)
    drives._on_command(message)


def report(drives, level):
    drives._on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(name="/controller", level=level)]))


def test_the_drives_see_commands_that_break_a_limit(drives):
    most = drives.robot.effort_limit
    command(drives, [0.0, 0.0, 0.0])
    command(drives, (0.99 * arm_drives.RATE * arm_drives.STEP * most).tolist(), arm_drives.STEP)
    assert not any(drives.counts.values())
    command(drives, (2.02 * arm_drives.RATE * arm_drives.STEP * most).tolist(), 2 * arm_drives.STEP)
    assert (drives.counts["commands beyond the limit"], drives.counts["commands beyond the rate"]) == (0, 1)
    command(drives, (1.01 * most).tolist(), 0.5)
    assert drives.counts["commands beyond the limit"] == 1
    for wrong in ([np.nan, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0]):
        command(drives, wrong)
    assert drives.counts["commands that are not finite"] == 3


@pytest.mark.parametrize("explained", [True, False])
def test_the_drives_see_gaps_and_stops_unless_a_fault_explains_them(drives, explained):
    command(drives, [0.0, 0.0, 0.0])
    for _ in range(80):  # longer than state_timeout
        drives.step()
    drives._answered = drives.now + 1.0
    drives.q[:], drives.qd[:] = drives.robot.upper, 0.8 * drives.robot.velocity_limit
    drives.step()
    assert (drives.q <= drives.robot.upper).all()
    if explained:
        report(drives, DiagnosticStatus.WARN)
    drives.wall[0] += arm_drives.EXPLAINED + 0.1
    drives._reported = drives.wall[0]
    drives._answered = drives.now + 1.0
    drives.step()
    assert (
        drives.counts["gaps without a fault"] == drives.counts["drives into a stop without a fault"] == (not explained)
    )
    assert drives.counts["hangs"] == 0


def test_a_fault_that_lasts_explains_what_happened_when_it_began(drives):
    """The machine is so slow that more than EXPLAINED passes within a period, and the fault is there all the time."""
    drives.q[:], drives.qd[:] = drives.robot.upper, 0.8 * drives.robot.velocity_limit
    command(drives, [0.0, 0.0, 0.0], arm_drives.STEP)
    drives.step()
    for _ in range(8):
        drives.wall[0] += 0.4 * arm_drives.EXPLAINED
        report(drives, DiagnosticStatus.WARN)
    drives._answered = drives.now + 1.0
    drives.step()
    assert drives.counts["drives into a stop without a fault"] == 0
    report(drives, DiagnosticStatus.OK)


def test_the_drives_see_a_controller_that_hangs_or_has_ended(drives):
    report(drives, DiagnosticStatus.OK)
    drives.wall[0] += arm_drives.HANG + 0.1
    drives.expected = False
    drives.step()
    assert drives.counts["hangs"] == 1
    drives.runs = False
    with pytest.raises(SystemExit, match="has ended"):
        drives.step()
    assert drives.counts["crashes"] == 1
