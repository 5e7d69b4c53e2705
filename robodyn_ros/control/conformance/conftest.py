"""Which laws are put to the test, and how the tests make one."""

from __future__ import annotations

import pytest

from robodyn_ros.control.conformance.subject import LawSubject
from robodyn_ros.dynamics.conformance.arms import ARMS
from robodyn_ros.plugins import available

ON = ("prismatic and revolute joints", "tilted, negative and long axes", "branches")
"""The arms of the tests."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each law."""
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--controller")
        metafunc.parametrize("name", chosen or available("controllers"), scope="session")


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """A law that is not installed ends the run before its first test."""
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
