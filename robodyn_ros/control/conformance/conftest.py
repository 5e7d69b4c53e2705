# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Selection of the tested laws, their fixtures, and the tolerances.

The tolerances depend on the tier of the law (option ``--tier``):

- ``exact``: its efforts are a formula, so that two computations of them agree up to rounding;
- ``numerical``: they are the result of an iteration, of differences, or of single precision: tolerances are 10⁶ times
  wider;
- ``learned``: it was fitted to data, as a policy is, with the tolerances of ``numerical``. It need not use the
  feed-forward effort of the reference; all other clauses apply.
"""

from __future__ import annotations

import pytest

from robodyn_ros.control.conformance.subject import LawSubject
from robodyn_ros.dynamics.conformance import subject as tiers
from robodyn_ros.dynamics.conformance.subject import ARMS
from robodyn_ros.plugins import available

ON = ("prismatic and revolute joints", "tilted, negative and long axes", "branches")
"""The arms of the tests."""

WIDENING = {"exact": 1.0, "numerical": 1e6, "learned": 1e6}
"""Tier of a law → factor of every tolerance; with 1e6, single precision passes a tolerance of 1e-12."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test once for each law."""
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


@pytest.fixture(scope="session", params=ON)
def arm(request: pytest.FixtureRequest) -> str:
    """The name of an arm."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def law(name: str, arm: str) -> LawSubject:
    """The law on one of the arms."""
    return LawSubject(name, ARMS[arm])


@pytest.fixture
def simple(name: str) -> LawSubject:
    """The law on a simple arm, for clauses that do not depend on the arm."""
    return LawSubject(name, ARMS[ON[0]])
