"""Which plugins are put to the test, and how the tests make one."""

from __future__ import annotations

import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.conformance.arms import ARMS
from robodyn_ros.dynamics.conformance.subject import Subject


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each plugin."""
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--dynamics")
        metafunc.parametrize("name", chosen or rd.available("dynamics"), scope="session")


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """A plugin that is not installed ends the run before its first test."""
    known = rd.available("dynamics")
    for name in set(config.getoption("--dynamics")) - set(known):
        raise pytest.UsageError(f"no dynamics plugin {name!r}; installed are {', '.join(known)}")


@pytest.fixture(scope="session", params=ARMS)
def arm(request: pytest.FixtureRequest) -> str:
    """The name of an arm."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def subject(name: str, arm: str) -> Subject:
    """The plugin on one of the arms, in a gravity along no axis; nobody changes its parameters."""
    return Subject(name, ARMS[arm], gravity=(0.4, -1.3, -9.6))


@pytest.fixture
def simple(name: str) -> Subject:
    """The plugin on a plain arm, for clauses that do not depend on the arm; each test has its own."""
    return Subject(name, ARMS["prismatic and revolute joints"])
