# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The law under test on an arm, random periods for it, the choice of the laws, and the tolerances.

The tolerances depend on the tier of the law (``--tier``). ``exact``: its efforts are a formula, so that two
computations agree up to rounding. ``numerical``: they are the result of an iteration, of differences, or of single
precision: tolerances are 10⁶ times wider. ``learned``: it was fitted to data, as a policy is, with these tolerances; it
need not use the feed-forward effort of the reference; all other clauses apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.conformance import subject as tiers
from robodyn_ros.dynamics.conformance.subject import ARMS
from robodyn_ros.plugins import available, load
from robodyn_ros.robot.pose import Array


class Period(NamedTuple):
    """Inputs of a law in a period, arrays (n,)."""

    dt: float
    q: Array
    qd: Array
    reference: Reference
    integral: Array
    asked: Array
    sent: Array


class LawSubject:
    """Factory of a law on one arm with n joints: each object has the same gains and model, and no memory."""

    def __init__(self, name: str, urdf: str) -> None:
        self._name = name
        robot = rd.load_robot(urdf)
        self.n = robot.n
        friction = np.linspace(0.11, 0.37, 2 * self.n).reshape(2, self.n)
        self.dynamics: Dynamics = rd.create_dynamics(
            "rnea", robot, gravity=(0.4, -1.3, -9.6), viscous=friction[0], coulomb=friction[1]
        )

    def make(self) -> Controller:
        """A law with gains that differ from joint to joint."""
        rng = np.random.default_rng(7)
        kp, kd, ki = rng.uniform(40.0, 90.0, self.n), rng.uniform(8.0, 25.0, self.n), rng.uniform(1.0, 9.0, self.n)
        return load("controllers", self._name)(self.dynamics, kp, kd, ki, **_without_haste(self._name))

    def periods(self, count: int, seed: int = 1) -> Iterator[Period]:
        """Random periods. Every tenth, from the first on, is a loop's first; about every third effort was limited."""
        rng = np.random.default_rng(seed)
        for k in range(count):
            q, qd, *reference, integral, asked, other = rng.uniform(-1.5, 1.5, (9, self.n))
            sent = np.where(rng.random(self.n) < 1.0 / 3.0, other, asked)
            dt = 0.0 if k % 10 == 0 else rng.uniform(5e-4, 2e-2)
            asked, sent = (asked, sent) if dt else np.zeros((2, self.n))
            yield Period(dt, q, qd, Reference(*reference), integral, asked, sent)

    def run(self, law: Controller, period: Period) -> Efforts:
        """The efforts of a law in a period."""
        law.look_ahead(lambda _: period.reference, np.full(self.n, np.inf))
        law.advance(period.dt, period.q, period.qd, period.reference, period.asked, period.sent)
        return law.compute(period.q, period.qd, period.reference, period.integral)


def _without_haste(name: str) -> dict[str, Any]:
    """Settings of a law with a ``budget`` of time: the greatest budget, so that a slow machine changes no effort."""
    settings = getattr(load("controllers", name), "settings", None)
    budgets = [item for item in fields(settings) if item.name == "budget"] if settings else []
    return {"config": settings(budget=budgets[0].metadata["range"][1])} if settings and budgets else {}


ON = ("prismatic and revolute joints", "tilted, negative and long axes", "branches")  #: The arms of the tests.
WIDENING = {"exact": 1.0, "numerical": 1e6, "learned": 1e6}  #: Tier → factor of every tolerance; 1e6: single precision.


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test once for each law."""
    if "arm" in metafunc.fixturenames:
        metafunc.parametrize("arm", ON, scope="session")
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--controller")
        metafunc.parametrize("name", chosen or available("controllers"), scope="session")


OWN_EFFORTS = pytest.mark.skip(reason="tier learned: the efforts of the law are its own")
"""Mark of clauses that require efforts of a formula, for a law that was fitted to data."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of clauses that require a formula, and set the tolerances of the tier."""
    config.addinivalue_line("markers", "of_the_law: the clause requires efforts of a formula")
    tiers.widening = WIDENING[config.getoption("--tier", "exact")]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip clauses by the tier; end the run before its first test if a law is not installed."""
    if config.getoption("--tier") == "learned":
        for item in items:
            if item.get_closest_marker("of_the_law"):
                item.add_marker(OWN_EFFORTS)
    known = available("controllers")
    for name in set(config.getoption("--controller")) - set(known):
        raise pytest.UsageError(f"no control law {name!r}; installed are {', '.join(known)}")


@pytest.fixture(scope="session")
def law(name: str, arm: str) -> LawSubject:
    """The law on one of the arms."""
    return LawSubject(name, ARMS[arm])


@pytest.fixture
def simple(name: str) -> LawSubject:
    """The law on a simple arm, for clauses that do not depend on the arm."""
    return LawSubject(name, ARMS[ON[0]])
