# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The clauses: results of a law, its memory, and equality of the law and its compiled form."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robodyn_ros.control.compiled_step import LawStep, trace_problem
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.base import Controller, Efforts, what_is_wrong
from robodyn_ros.control.laws.traced import law_numbers, unflat
from robodyn_ros.dynamics.conformance.subject import same
from robodyn_ros.engine.library import only_listed

if TYPE_CHECKING:
    from robodyn_ros.control.conformance.conftest import LawSubject

EXACT = 1e-12  #: Relative tolerance between two exact computations of a number.


def test_efforts_are_numbers_of_each_joint(law: LawSubject) -> None:
    """Every term is a float64 array (n,) of finite numbers, and ``total`` is the sum of the others."""
    subject = law.make()
    for period in law.periods(5):
        given = law.run(subject, period)
        assert not (problem := what_is_wrong(given, law.n)), problem
        for name, term in given._asdict().items():
            assert term.dtype == np.float64, f"the term {name} must be float64"
        same(given.total, sum(given[:-1]), "total is the sum of the terms", EXACT)


def test_compute_changes_nothing(law: LawSubject) -> None:
    """The same state again gives the same efforts, and the arguments of ``compute`` do not change."""
    subject = law.make()
    for period in law.periods(4):
        law.run(subject, period)
        before = [value.copy() for value in (period.q, period.qd, *period.reference, period.integral)]
        first, again = (
            subject.compute(period.q, period.qd, period.reference, period.integral).total.copy() for _ in range(2)
        )
        after = (period.q, period.qd, *period.reference, period.integral)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)), "compute changes its arguments"
        assert np.array_equal(first, again), "compute gives other efforts for the same state"


@pytest.mark.of_the_law
def test_the_feed_forward_effort_is_added(law: LawSubject) -> None:
    """The effort of the reference is in ``feedforward``, and ``total`` grows by it."""
    subject, period = law.make(), next(law.periods(1))
    with_it = law.run(subject, period)
    subject.forget()
    none = period.reference._replace(effort=np.zeros(law.n))
    without = law.run(subject, period._replace(reference=none))
    same(with_it.feedforward, period.reference.effort, "feedforward is the effort of the reference", EXACT)
    same(with_it.total - without.total, period.reference.effort, "total grows by the feed-forward effort", 1e-9)


def test_a_law_that_forgets_is_new(law: LawSubject) -> None:
    """After ``forget`` a law gives the same efforts as a new one."""
    subject = law.make()
    for period in law.periods(15, seed=2):
        law.run(subject, period)
    subject.forget()
    new = law.make()
    for period in law.periods(5):
        same(law.run(subject, period).total, law.run(new, period).total, "a law that forgot is a new one", 1e-9)


def test_what_was_learnt_is_restored(simple: LawSubject) -> None:
    """The result of ``memory`` is plain data, and ``restore`` takes it over; it is empty if the law does not learn."""
    subject, other = simple.make(), simple.make()
    for period in simple.periods(15):
        simple.run(subject, period)
    if learnt := subject.memory():
        other.restore(learnt)
        same(_leaves(other.memory()), _leaves(learnt), "restore takes over the result of memory", 1e-9)


def test_the_traced_law_is_the_law(law: LawSubject) -> None:
    """In random periods, efforts and memory of the law as expressions equal those of the law in Python."""
    _compare(law, _traced(law.make(), compiled=False))


def test_the_compiled_law_is_the_law(simple: LawSubject) -> None:
    """In random periods, efforts and memory of the law in compiled C equal those of the law in Python."""
    _compare(simple, _traced(simple.make()))


def test_a_compiled_law_follows_its_settings(simple: LawSubject) -> None:
    """Gains are settings, not constants of the code: a law with other gains uses them, without a compilation."""
    subject = simple.make()
    _traced(subject)
    subject = type(subject)(subject.dynamics, 1.7 * subject.kp, 0.6 * subject.kd, 2.1 * subject.ki)
    compiled = _traced(subject)
    for period in simple.periods(3):
        expected, found = simple.run(subject, period), compiled.period(*period)
        same(found.total, expected.total, "the compiled law has the gains of the law", EXACT)


def _leaves(data: Any) -> list[float]:
    """All numbers of plain data."""
    if isinstance(data, dict):
        data = list(data.values())
    return [number for item in data for number in _leaves(item)] if isinstance(data, list) else [float(data)]


def _traced(law: Controller, *, compiled: bool = True) -> LawStep:
    """The traced law; the clause is skipped if the law cannot be traced."""
    if problem := trace_problem(law):
        pytest.skip(f"{type(law).__name__} runs as Python: {problem}")
    with nullcontext() if compiled else only_listed():
        return LawStep(law, safety=SafetySettings(integral_limit=1e3))


def _compare(law: LawSubject, compiled: LawStep) -> None:
    subject = law.make()
    for period in law.periods(40):
        expected, found = law.run(subject, period), compiled.period(*period)
        for name, right, got in zip(Efforts._fields, expected, found, strict=True):
            same(got, right, f"the term {name} of the traced law", EXACT)
        for name, value in unflat(law_numbers(subject).memory, compiled.law_memory).items():
            same(value, np.asarray(getattr(subject, name)), f"the memory {name} of the traced law", EXACT)
