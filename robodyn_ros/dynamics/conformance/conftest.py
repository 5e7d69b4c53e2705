"""Which plugins are put to the test, how the tests make one, and how exact it has to be.

A plugin claims a tier (option ``--tier``):

- ``exact``: its numbers are those of the equations of motion, up to rounding;
- ``numerical``: they are those of an iteration, of differences, or of single precision: tolerances are 10⁵ times wider;
- ``learned``: it was fitted to data, so its numbers are its own, but hang together: shapes, finite numbers, a symmetric
  and positive definite M, forward dynamics that undo inverse dynamics, and clean states and parameters, with the
  tolerances of ``numerical``. Clauses that ask for the numbers of the URDF are left out.
"""

from __future__ import annotations

import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.conformance import subject as subject_module
from robodyn_ros.dynamics.conformance.arms import ARMS
from robodyn_ros.dynamics.conformance.subject import Subject


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each plugin."""
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--dynamics")
        metafunc.parametrize("name", chosen or rd.available("dynamics"), scope="session")


OWN_NUMBERS = pytest.mark.skip(reason="tier learned: the plugin's numbers are its own")
"""What a clause gets that asks for the numbers of the URDF, where the plugin was fitted to data."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of clauses that ask for the numbers of the URDF."""
    config.addinivalue_line("markers", "of_the_urdf: the clause asks for the numbers that follow from the URDF")
    tier = config.getoption("--tier", "exact")
    subject_module.widening, subject_module.has_own_numbers = subject_module.WIDENING[tier], tier == "learned"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A plugin that is not installed ends the run before its first test."""
    if config.getoption("--tier") == "learned":
        for item in items:
            if item.get_closest_marker("of_the_urdf"):
                item.add_marker(OWN_NUMBERS)
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
