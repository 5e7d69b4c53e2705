# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugins under test, and the exactness that a tier claims.

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
from robodyn_ros.dynamics.conformance import subject as kit
from robodyn_ros.dynamics.conformance.subject import ARMS, PLAIN, Subject, arm_like


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each plugin, and those that take an arm once for each arm."""
    if "arm" in metafunc.fixturenames:
        metafunc.parametrize("arm", ARMS, scope="session")
    if "name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--dynamics")
        metafunc.parametrize("name", chosen or rd.available("dynamics"), scope="session")


OWN_ARM = pytest.mark.skip(reason="--arm: the clause is about an arm of the kit")
"""Mark of a clause about an arm of the kit, if the plugin serves other arms."""

OWN_NUMBERS = pytest.mark.skip(reason="tier learned: the plugin's numbers are its own")
"""Mark of a clause about the numbers of the URDF, if the plugin was fitted to data."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of clauses that ask for the numbers of the URDF."""
    config.addinivalue_line("markers", "of_the_urdf: the clause asks for the numbers that follow from the URDF")
    config.addinivalue_line("markers", "of_the_kit: the clause is about an arm of the kit")
    tier = config.getoption("--tier", "exact")
    kit.widening, kit.has_own_numbers = kit.WIDENING[tier], tier == "learned"
    if served := config.getoption("--arm", []):
        kit.serve_only(served)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A plugin that is not installed, or refuses an arm that it is tested on, ends the run before its first test."""
    for item in items:
        if config.getoption("--arm") and item.get_closest_marker("of_the_kit"):
            item.add_marker(OWN_ARM)
        if config.getoption("--tier") == "learned" and item.get_closest_marker("of_the_urdf"):
            item.add_marker(OWN_NUMBERS)
    known = rd.available("dynamics")
    for name in set(config.getoption("--dynamics")) - set(known):
        raise pytest.UsageError(f"no dynamics plugin {name!r}; installed are {', '.join(known)}")
    for name in config.getoption("--dynamics"):
        for arm, urdf in ARMS.items():
            _check_serves(name, arm, urdf)


def _check_serves(name: str, arm: str, urdf: str) -> None:
    """End the run with one line if a plugin cannot be made for an arm."""
    try:
        rd.create_dynamics(name, rd.load_robot(urdf))
    except Exception as problem:
        line = " ".join(str(problem).split())
        remedy = "" if arm not in kit.KITS_OWN else "; test a plugin for one arm on that arm, by --arm arm.urdf"
        raise pytest.UsageError(
            f"dynamics plugin {name!r} does not serve the arm {arm!r}: {type(problem).__name__}: {line}{remedy}"
        ) from problem


@pytest.fixture(scope="session")
def subject(name: str, arm: str) -> Subject:
    """The plugin on one of the arms, in a gravity along no axis; nobody changes its parameters."""
    return Subject(name, ARMS[arm], gravity=(0.4, -1.3, -9.6))


@pytest.fixture
def simple(name: str) -> Subject:
    """The plugin on a plain arm, for clauses that do not depend on the arm; each test has its own."""
    return Subject(name, arm_like(PLAIN))
