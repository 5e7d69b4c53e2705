# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which laws are put to the test, how the tests make one, and how exact it has to be.

A law claims a tier (option ``--tier``):

- ``exact``: its efforts are a formula, so that they agree up to rounding wherever they are computed in two ways;
- ``numerical``: they are the result of an iteration, of differences, or of single precision: tolerances are 10⁶ times
  wider;
- ``learned``: it was fitted to data, as a policy is, with the tolerances of ``numerical``. It need not use the
  feed-forward effort of the reference; all other clauses hold for it too.
"""

from __future__ import annotations

import pytest

from robodyn_ros.control.conformance.subject import LawSubject
from robodyn_ros.dynamics.conformance import subject as tiers
from robodyn_ros.dynamics.conformance.arms import ARMS
from robodyn_ros.plugins import available

ON = ("prismatic and revolute joints", "tilted, negative and long axes", "branches")
"""The arms of the tests."""

WIDENING = {"exact": 1.0, "numerical": 1e6, "learned": 1e6}
"""Tier that a law claims → factor of every tolerance: single precision passes where 1e-12 is asked of a formula."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each law."""
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--controller")
        metafunc.parametrize("name", chosen or available("controllers"), scope="session")


OWN_EFFORTS = pytest.mark.skip(reason="tier learned: the efforts of the law are its own")
"""What a clause gets that asks for efforts of a formula, where the law was fitted to data."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of clauses that ask for a formula, and take over the tolerances of the tier."""
    config.addinivalue_line("markers", "of_the_law: the clause asks for efforts that follow from a formula")
    tiers.widening = WIDENING[config.getoption("--tier", "exact")]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A law that is not installed ends the run before its first test."""
    if config.getoption("--tier") == "learned":
        for item in items:
            if item.get_closest_marker("of_the_law"):
                item.add_marker(OWN_EFFORTS)
    known = available("controllers")
    for name in set(config.getoption("--controller")) - set(known):
        raise pytest.UsageError(f"no control law {name!r}; installed are {', '.join(known)}")


@pytest.fixture(scope="session", params=ON)
def arm(request: pytest.FixtureRequest) -> str:
    """The name of an arm."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def law(name: str, arm: str) -> LawSubject:
    """How to make the law on one of the arms."""
    return LawSubject(name, ARMS[arm])


@pytest.fixture
def simple(name: str) -> LawSubject:
    """How to make the law on a plain arm, for clauses that do not depend on the arm."""
    return LawSubject(name, ARMS[ON[0]])
