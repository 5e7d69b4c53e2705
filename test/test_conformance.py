# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conformance kit: the built-in plugins pass it, a third party's can, and it catches what is wrong.

The kit runs in a process of its own, from a folder of its own, on plugins found by entry point.
"""

import os
import subprocess
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import pytest
from broken_dynamics import FAULTS
from fork_server import run_module
from installed_package import install
from once import once, run_folder

KIT = "robodyn_ros.dynamics.conformance"
PROVED = 400
"""So many tests at least belong to a run on one plugin: nothing was skipped or left out."""

WITHOUT_COMPILER = {"CC": "no-such-compiler"}
"""The kit's arms then run on the virtual machine; the PRR arm of ``one_arm`` is compiled."""

pytestmark = pytest.mark.timeout(600)  # on a machine that has compiled none of the kit's arms yet


def run(folder: Path, *arguments: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], ET.Element]:
    """The kit in a process of its own: how it ended, and its report."""
    report = folder / "report.xml"
    options = ("-p", "no:cacheprovider", "--pyargs", KIT, f"--junitxml={report}")
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parent}", **environment}
    done = run_module("pytest", *options, *arguments, cwd=folder, env=env, timeout=500.0)
    suite = ET.parse(report).getroot().find("testsuite") if report.exists() else None
    return done, suite if suite is not None else ET.Element("none")


def cases(suite: ET.Element, outcome: str) -> set[str]:
    """The tests that have that outcome with some parameters."""
    return {case.get("name", "").partition("[")[0] for case in suite.iter("testcase") if case.find(outcome) is not None}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is, for Python, an installed package with the plugins of ``broken_dynamics``."""
    folder = tmp_path_factory.mktemp("installed")
    entries = [f"{name} = broken_dynamics:{name}" for name in ("Faultless", *FAULTS)]
    install(folder, "broken", "robodyn_ros.dynamics", *entries)
    return folder


LATER = [("rnea", {}), ("lagrangian", WITHOUT_COMPILER), ("Faultless", {})]
"""Plugins of the package and of a third party that belong to ``make test-thorough``, and how they run."""


@pytest.mark.parametrize(
    ("name", "environment"),
    [("rnea", WITHOUT_COMPILER), *(pytest.param(*one, marks=pytest.mark.thorough) for one in LATER)],
)
def test_a_right_plugin_passes(installed: Path, name: str, environment: dict[str, str]) -> None:
    done, suite = run(installed, "--dynamics", name, **environment)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(suite.get("tests", 0)) >= PROVED
    assert suite.get("skipped") == "0"


@pytest.fixture(scope="session")
def found(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Plugin with a fault → what the failed tests of the clause that must find it say. The kit runs once in all."""
    chosen = [f"--dynamics={name}" for name in FAULTS]

    def make(report: Path) -> None:
        done, suite = run(installed, "-p", "broken_dynamics", "--tb=native", *chosen, **WITHOUT_COMPILER)
        assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-4000:] + done.stderr[-4000:]
        ET.ElementTree(suite).write(report)

    suite = ET.parse(once(run_folder(tmp_path_factory.getbasetemp()) / "broken_dynamics.xml", make)).getroot()
    said = defaultdict(list)
    for case in suite.iter("testcase"):
        for failure in case.iter("failure"):
            clause, _, parameters = case.get("name", "").rstrip("]").partition("[")
            (name,) = FAULTS.keys() & set(parameters.split("-"))
            assert clause == FAULTS[name].clause
            said[name].append(failure.get("message", ""))
    return said


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_by_its_clause(found: dict[str, list[str]], fault: str) -> None:
    assert found[fault], f"{FAULTS[fault].clause} passes"
    assert any(FAULTS[fault].says in message for message in found[fault]), found[fault]


def test_an_unknown_plugin_ends_the_run(installed: Path) -> None:
    done, _ = run(installed, "--dynamics", "kane")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no dynamics plugin 'kane'; installed are" in done.stderr + done.stdout


ONE_ARM = '''
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError


class OneArm(RNEA):
    """Dynamics of the PRR arm, and of no other."""

    def __init__(self, robot, **parameters):
        if robot.joint_names != ("elevator", "shoulder", "wrist"):
            raise InputError("robot", f"must be the PRR arm, not {robot.name!r}", robot)
        super().__init__(robot, **parameters)
'''


@pytest.fixture(scope="session")
def one_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is, for Python, an installed package with a plugin for one arm."""
    folder = tmp_path_factory.mktemp("one_arm")
    (folder / "one_arm.py").write_text(ONE_ARM)
    install(folder, "one_arm", "robodyn_ros.dynamics", "one_arm = one_arm:OneArm")
    return folder


def test_a_plugin_for_one_arm_ends_the_run_in_one_line(one_arm: Path) -> None:
    done, _ = run(one_arm, "-q", "--dynamics", "one_arm")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in (done.stderr + done.stdout).splitlines() if "one_arm" in line)
    assert "does not serve the arm 'prismatic and revolute joints'" in line
    assert "must be the PRR arm, not 'conformance'" in line
    assert line.endswith("by --arm arm.urdf")


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of the page on learned models, installed by its own text."""
    folder = tmp_path_factory.mktemp("learned")
    page = (Path(__file__).parents[1] / "docs/how-to/learned-model.md").read_text(encoding="utf-8")
    (folder / "learned_page.py").write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    install(folder, "learned", "robodyn_ros.dynamics", "learned = learned_page:Learned")
    return folder


@pytest.mark.thorough
def test_the_learned_model_of_the_docs_passes_its_own_tier(learned: Path) -> None:
    done, suite = run(learned, "--dynamics", "learned", "--tier", "learned")
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) > PROVED / 2


@pytest.mark.thorough
@pytest.mark.parametrize("tier", ["exact", "numerical"])
def test_a_learned_model_is_not_exact(learned: Path, tier: str) -> None:
    chosen = ("-k", "gravity_follows_from_the_weight or symmetric")
    done, suite = run(learned, "--dynamics", "learned", "--tier", tier, *chosen)
    assert done.returncode == 1, done.stdout[-4000:]
    failed = cases(suite, "failure")
    assert failed == {"test_gravity_follows_from_the_weight_of_the_bodies"}
