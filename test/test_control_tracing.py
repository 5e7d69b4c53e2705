# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Control laws that are traced, and laws that are not: what is said of them, and that the kit finds what is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from fork_server import run_module
from installed_package import install
from test_control_tool_laws import interpreted

import robodyn_ros as rd
from robodyn_ros.control.compiled_step import trace_problem
from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.traced import law_key, law_numbers
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.plugins import load

PRR = rd.load_robot("prr")
KIT = "robodyn_ros.control.conformance"
TRACED = [name for name in rd.available("controllers") if name != "mpc"]


def kit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The kit in a process of its own, with the laws of this file installed."""
    entries = [f"{name.lower()} = test_control_tracing:{name}" for name in ("Forgetful", "Counting", "Policy")]
    install(folder, "laws", "robodyn_ros.controllers", *entries)
    path = os.pathsep.join([str(folder), str(Path(__file__).parent)])
    options = ("-q", "-rs", "-p", "no:cacheprovider", "--pyargs", KIT)
    env = {**os.environ, "PYTHONPATH": path}
    return run_module("pytest", *options, *arguments, cwd=folder, env=env, timeout=500.0)


class Branching(PD):
    """It asks for a value."""

    def compute(self, q, qd, reference, integral=None):
        efforts = super().compute(q, qd, reference, integral)
        return efforts if q[0] > 0.0 else efforts._replace(total=2.0 * efforts.total)


class Counting(PD):
    """It changes its memory where it may not."""

    calls = 0.0

    def compute(self, q, qd, reference, integral=None):
        self.calls = self.calls + 1.0
        efforts = super().compute(q, qd, reference, integral)
        return efforts._replace(feedback=efforts.feedback + self.calls, total=efforts.total + self.calls)


class Forgetful(PD):
    """Its memory has no name, so that it would be a setting."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = np.zeros(len(self.kp))

    def advance(self, dt, q, qd, reference, asked, sent):
        self.seen = self.seen + dt * qd

    def compute(self, q, qd, reference, integral=None):
        efforts = super().compute(q, qd, reference, integral)
        return efforts._replace(feedback=efforts.feedback - self.seen, total=efforts.total - self.seen)

    def forget(self):
        self.seen = np.zeros(len(self.kp))


class Remembering(Forgetful):
    """The same law, as the contract asks for it."""

    remembers = ("seen",)


class Reading(PD):
    """It reads the arm's data in its equations."""

    def compute(self, q, qd, reference, integral=None):
        efforts, robot = super().compute(q, qd, reference, integral), self.dynamics.robot
        friction = robot.damping * qd + 1e3 * robot.upper
        return efforts._replace(friction=friction, total=efforts.total + friction)


class Tabled(PD):
    """A table of whole numbers is a constant of its code."""

    def __init__(self, *args):
        super().__init__(*args)
        self.table = np.ones(1500, dtype=int)

    def compute(self, q, qd, reference, integral=None):
        efforts, ratio = super().compute(q, qd, reference, integral), float(self.table[700])
        return efforts._replace(feedback=ratio * efforts.feedback, total=ratio * efforts.total)


class Growing(Remembering):
    """Its memory changes its shape."""

    def advance(self, dt, q, qd, reference, asked, sent):
        self.seen = np.concatenate([self.seen, qd])


class Printing(PD):
    """It is to run as Python."""

    traced = False


class Policy(PD):
    """A policy fitted to what PD does, in single precision; it knows no feed-forward effort."""

    def __init__(self, *args):
        super().__init__(*args)
        rng = np.random.default_rng(3)
        n = len(self.kp)
        seen = rng.uniform(-2.0, 2.0, (500, 2 * n))
        self.first = (0.1 * rng.normal(size=(2 * n, 60))).astype(np.float32)
        shown = seen[:, :n] * self.kp + seen[:, n:] * self.kd
        self.second = np.linalg.lstsq(np.tanh(seen @ self.first), shown, rcond=None)[0].astype(np.float32)

    def compute(self, q, qd, reference, integral=None):
        error = np.concatenate([reference.q - q, reference.qd - qd]).astype(np.float32)
        feedback = (np.tanh(error @ self.first) @ self.second).astype(float)
        none = np.zeros(len(q))
        return Efforts(none, none, none, none, feedback, none, feedback)


class Wrong(PD):
    """It fails for a reason of its own."""

    def compute(self, q, qd, reference, integral=None):
        return super().compute(q[:1], qd, reference, integral).total[7]


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (Branching, "asks for a value"),
        (Counting, "compute changes self.calls"),
        (Forgetful, "advance changes self.seen, which `remembers` does not name"),
        (Growing, "advance changes the shape of self.seen"),
        (Printing, "is set to run as Python"),
        (Wrong, "IndexError"),
        (Remembering, ""),
    ],
)
def test_why_a_law_is_not_traced(law: type[PD], said: str) -> None:
    problem = trace_problem(law(rd.create_dynamics("rnea", PRR), 90.0, 18.0))
    assert said in problem
    assert bool(said) == bool(problem)


def test_a_replaced_method_is_not_traced() -> None:
    law = PD(rd.create_dynamics("rnea", PRR), 90.0, 18.0)
    law.compute = law.compute  # type: ignore[method-assign]
    assert "its compute is replaced" in trace_problem(law)


def test_a_law_without_a_file_has_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of a notebook, where a cell is run again with another law of the same name."""
    monkeypatch.setitem(sys.modules, "notebook", ModuleType("notebook"))
    dynamics = rd.create_dynamics("rnea", PRR, compiled=False)
    q, none, still = np.array([0.1, 0.2, 0.3]), np.zeros(3), Reference(*np.zeros((4, 3)))
    for factor in (1.0, 2.0):

        class Mine(PD):
            __module__ = "notebook"

            def compute(self, q, qd, reference, integral=None, factor=factor):
                return super().compute(factor * q, qd, reference, integral)

        law = Mine(dynamics, 90.0, 18.0)
        found = interpreted(law).period(0.01, q, none, still, none, none, none)
        np.testing.assert_allclose(found, law.compute(q, none, still), rtol=1e-12)


def test_a_table_of_whole_numbers_counts_to_its_last_one() -> None:
    rest, laws = np.zeros(3), [Tabled(rd.create_dynamics("rnea", PRR), 3.0, 0.5) for _ in range(2)]
    laws[1].table[700] = 2
    for law, ratio in zip(laws, (1.0, 2.0), strict=True):
        given = 0.01, rest + 0.2, rest, Reference(*np.zeros((4, 3))), rest, rest, rest
        np.testing.assert_allclose(interpreted(law).period(*given).total, -0.6 * ratio)
    assert len({law_key(law, law_numbers(law)) for law in laws}) == 2


SOON = ("Reading", "adaptive", "cartesian_impedance", "computed_torque")
"""Laws that have the arm's data as it is, by its regressor, by the frame of the tool, and by its dynamics."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOON else pytest.mark.thorough) for name in [*TRACED, "Reading"]]
)
def test_the_code_is_that_of_the_arm_whatever_of_it_changes(name: str) -> None:
    """Arms that differ in the frame of the tool, in damping, or in a limit by little, one after the other."""
    tool = '<link name="tcp"/><joint name="fix" type="fixed"><parent link="{}"/><child link="tcp"/>{}</joint></robot>'
    q, qd, none = np.array([0.6, 0.5, 0.7]), np.array([0.3, -0.4, 0.2]), np.zeros(3)
    reference, keys = Reference(q + 0.05, none, none, none), set()
    for place, damping, upper in ((0.1, 0.2, 2.5), (0.35, 0.2, 2.5), (0.1, 0.7, 2.5), (0.1, 0.2, 2.500001)):
        origin = f'<origin xyz="0.05 0.01 {place}" rpy="0.1 0.2 0.3"/>'
        text = PRR.urdf.replace("</joint>", f'<dynamics damping="{damping}" friction="0.1"/></joint>')
        text = text.replace("</robot>", tool.format(PRR.links[-1].name, origin))
        robot = rd.load_robot(re.sub('upper="[^"]*"', f'upper="{upper}"', text))
        kind = Reading if name == "Reading" else load("controllers", name)
        law = kind(rd.create_dynamics("rnea", robot), np.full(3, 50.0), np.full(3, 15.0))
        keys.add(law_key(law, law_numbers(law)))
        found = interpreted(law).period(0.01, q, qd, reference, none, none, none)
        law.advance(0.01, q, qd, reference, none, none)
        np.testing.assert_allclose(found.total, law.compute(q, qd, reference, none).total, rtol=1e-9, atol=1e-9)
    assert len(keys) == 4


def test_the_kit_compares_traced_laws_with_python(tmp_path: Path) -> None:
    chosen = [f"--controller={name}" for name in TRACED]
    done = kit(tmp_path, *chosen, "-k", "traced and prismatic")
    assert done.returncode == 0, done.stdout[-4000:]
    assert f"{len(TRACED)} passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.thorough
def test_the_built_in_laws_pass_the_kit(tmp_path: Path) -> None:
    done = kit(tmp_path, *(f"--controller={name}" for name in rd.available("controllers")))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "mpc runs as Python" in done.stdout.replace("MPC", "mpc")


def test_the_kit_finds_a_law_that_changes_in_compute(tmp_path: Path) -> None:
    """Whatever its tier is: this one asks for the least."""
    done = kit(tmp_path, "--controller=counting", "--tier=learned", "-k", "prismatic or compiled")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "compute gives other efforts for the same state" in done.stdout
    assert "Counting runs as Python: compute changes self.calls" in done.stdout


@pytest.mark.parametrize(
    "tier", ["learned", *(pytest.param(tier, marks=pytest.mark.thorough) for tier in ("numerical", "exact"))]
)
def test_a_policy_passes_the_tier_learned_and_no_other(tmp_path: Path, tier: str) -> None:
    """A learned law need not use the feed-forward effort, and single precision is not exact."""
    chosen = "prismatic or numbers or changes_nothing or forgets or compiled"
    done = kit(tmp_path, "--controller=policy", f"--tier={tier}", "-k", chosen)
    failed = set(re.findall(r"^_+ (test_\w+)\[", done.stdout, re.MULTILINE))
    assert (done.returncode == 0) == (not failed), done.stdout[-4000:]
    if tier == "learned":
        assert not failed, done.stdout[-4000:]
        assert "tier learned: the efforts of the law are its own" in done.stdout
    else:
        assert "test_the_feed_forward_effort_is_added" in failed, done.stdout[-4000:]
        assert (len(failed) == 1) == (tier == "numerical"), failed


def test_a_model_with_methods_of_its_own_is_asked_in_python() -> None:
    """What a method does in Python, its expressions might not do."""

    class Heavier(RNEA):
        def gravity(self, q):
            return 1.5 * super().gravity(q)

    assert "Heavier, computes gravity in Python" in trace_problem(PD(Heavier(PRR), 90.0, 18.0))
    dynamics = rd.create_dynamics("rnea", PRR)
    dynamics.gravity(np.zeros(3))
    law = PD(dynamics, 90.0, 18.0)
    assert trace_problem(law) == ""
    dynamics.coriolis = lambda q, qd: np.zeros(3)
    assert "RNEA, computes coriolis in Python" in trace_problem(law)
