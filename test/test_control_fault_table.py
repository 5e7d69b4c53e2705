# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The table of faults: a new kind is a row, its detection and its test, and everything else comes from them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked_workers import WORKER

from robodyn_ros.control.core_library import caller_library
from robodyn_ros.errors import NotReadyError

ROOT = Path(__file__).parents[1]

EDITS = {
    "robodyn_ros/control/faults/table.py": {
        '    "publisher": Fault(': """    "quick": Fault(
        "too quick",
        "a joint is faster than `quickness` allows",
        "judge_quickness",
        "a joint near its velocity limit",
        "move more slowly",
        "test_nodes_diagnostics.py::test_the_level_stays_while_a_fault_lasts",
        reaction="damp",
        max_duration=7.0,
    ),
""",
        '    "SEVERAL_PUBLISHERS"': """    "NEAR_LIMIT": "{joint} has {value:.3g} {position}/s, {bound:.3g} is near",
""",
    },
    "robodyn_ros/control/core/faults.c": {
        "static int judge_publisher(": """static int judge_quickness(const Settings* s, State* m) {
  EACH {
    const double bound = s->quickness * s->velocity_limit[i];
    if (fabs(m->qd[i]) > bound) { say(m, NEAR_LIMIT, i, m->qd[i], bound); return FAULT_QUICK; }
  }
  return -1;
}

""",
    },
    "robodyn_ros/control/faults/settings.py": {
        "    plausibility: bool": """    quickness: float = setting(0.9, "what is not quick yet", "-", 0.0, 1.0)
""",
    },
    "robodyn_ros/control/core/memory.h": {
        "  Uncertainty uncertainty;\n} Settings;": """  double quickness;
""",
    },
    "test/test_nodes_diagnostics.py": {
        "WAYS = {": """def quick(on):
    limit = on.loop.control.settings.limits.velocity[2]

    def step():
        on.qd[2] = 1.05 * limit * np.cos(20.0 * on.t)
        on.q[2] = REST[2] + 1.05 * limit / 20.0 * np.sin(20.0 * on.t)
        on.state()

    return step


""",
        '    "publisher": (publisher, {})': """    "quick": (
        quick,
        {"plausibility": False, "following_tolerance": 0.0},
    ),
""",
    },
}
"""What a new kind takes: file → what stands there → what is written before it."""

PROGRAM = """
import ctypes
import sys

import numpy as np
from exported_arm import at
from fault_table import fault_rows
from test_control_export import Twins

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, FaultReactions, SafetySettings

assert rd.__file__.startswith(sys.argv[1]), rd.__file__
twins = Twins("prr", "computed_torque", {"plausibility": False, "quickness": 0.8})
robot, rest = twins.robot, np.zeros(3)
joint, limit, qd = robot.joint_names[1], robot.joints[1].velocity, np.zeros(3)
qd[1] = 0.85 * limit

# the loop: its reaction and its words, and the choice of another reaction
safety = SafetySettings(plausibility=False, quickness=0.8)
for reactions, phase in ((FaultReactions(), "damp"), (FaultReactions(quick=("hold", 2.0)), "hold")):
    loop = ControlLoop(ComputedTorque(twins.dynamics, 100.0, 20.0), robot.effort_limit, safety, reactions=reactions)
    loop.update(0.0, 0.0, robot.home, rest)
    command = loop.update(0.01, 0.01, robot.home, qd)
    assert (command.fault, loop.fault.phase) == ("quick", phase)
    assert command.problem == f"joint {joint!r} has {qd[1]:.3g} rad/s, {0.8 * limit:.3g} is near"

# the export: its parameters, the same efforts, and its words
choices = twins.exported.table["faults.quick.reaction"].choices
assert [choices[k].text.decode() for k in range(3)] == ["hold", "damp", "silent"]
twins.update(0.0, robot.home, rest)
what, command = twins.update(0.01, robot.home, qd)
assert command.fault == "quick"
text = ctypes.create_string_buffer(400)
twins.exported.code.arm_fault_text(at(twins.exported.report), text, 400)
said = f"quick: joint {joint!r} has {qd[1]:.4g} rad/s, {0.8 * limit:.4g} is near"
assert text.value.decode() == said, text.value.decode()

# the pages
row = "| `quick` | a joint is faster than `quickness` allows | damp, hold, silent | 7 | too quick | `test_nodes_d"
assert any(line.startswith(row) for line in fault_rows())
"""
"""What is seen of it in the loop, in the export and in the pages of the copy."""


@pytest.mark.thorough
def test_a_new_kind_is_a_row_its_detection_and_its_test(tmp_path: Path) -> None:
    for folder in ("robodyn_ros", "docs", "test", "urdf", "config", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, places in EDITS.items():
        assert Path(name).name in contributing
        text = (tmp_path / name).read_text(encoding="utf-8")
        for place, added in places.items():
            assert text.count(place) == 1, (name, place)
            text = text.replace(place, added + place)
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = (tmp_path, tmp_path / "test", tmp_path / "docs/_ext")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    environment.pop(WORKER, None)
    node = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test/test_nodes_diagnostics.py", "-k", "quick or every"]
    for arguments in (["-c", PROGRAM, str(tmp_path)], node):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "2 passed" in done.stdout or "rclpy" in done.stdout


def test_code_that_does_not_compile_says_what_the_compiler_says(tmp_path: Path) -> None:
    code = tmp_path / "judge.c"
    code.write_text("int judge(void) { return FAULT_QUICK; }\n", encoding="utf-8")
    with pytest.raises(NotReadyError, match=r"the control loop cannot be compiled: (.|\n)*FAULT_QUICK"):
        caller_library(3, code)
