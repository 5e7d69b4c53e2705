# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Positions on circles and on lines: subtracted, averaged and interpolated as what they are."""

import numpy as np
import pytest
from arms import joint, link, robot
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import InputError
from robodyn_ros.robot.configuration import ConfigurationSpace, position_ranges

INERTIA = (0.01, 0, 0, 0.02, 0, 0.03)
MIMIC = '<mimic joint="turret" multiplier="{}" offset="0.1"/>'


def arm(ratio: float | None = None) -> rd.Robot:
    """A continuous, a revolute and a prismatic joint, and one that may mimic the first."""
    parts = [
        joint("turret", "continuous", "base", "a", (0, 0, 1), limit=(0, 0, 3, 40)),
        joint("elbow", "revolute", "a", "b", (0, 1, 0), (0.1, 0, 0.3), limit=(-7.0, 9.0, 3, 40)),
        joint("slide", "prismatic", "b", "c", (1, 0, 0), (0.2, 0, 0), limit=(-9.0, 9.0, 3, 40)),
    ]
    links = [link("base"), *(link(name, 1.0, (0.1, 0.2, 0), INERTIA) for name in "abc")]
    if ratio is not None:
        links.append(link("d", 1.0, (0.1, 0, 0), INERTIA))
        parts.append(joint("geared", "continuous", "c", "d", (0, 0, 1), extra=MIMIC.format(ratio), limit=(0, 0, 3, 4)))
    return rd.load_robot(robot("mixed", *links, *parts))


SPACE = ConfigurationSpace(arm())


def test_what_is_a_circle() -> None:
    assert SPACE.circular.tolist() == [True, False, False]
    assert SPACE.turns.tolist() == [True, True, False]
    assert ConfigurationSpace(arm(2.0)).circular[0]
    assert not ConfigurationSpace(arm(0.5)).circular[0]  # a turn of the first is half a turn of the other


def test_across_the_seam() -> None:
    start, end = np.array([3.0, 3.0, 3.0]), np.array([-3.0, -3.0, -3.0])
    assert_allclose(SPACE.difference(start, end), [2 * np.pi - 6, -6, -6])
    assert_allclose(SPACE.distance(start, end), np.sqrt((2 * np.pi - 6) ** 2 + 72))
    assert_allclose(SPACE.interpolate(start, end, 0.5), [np.pi, 0, 0])
    assert_allclose(SPACE.interpolate(start, end, [0.0, 1.0]), [start, [2 * np.pi - 3, -3, -3]])
    assert_allclose(SPACE.near(start, end), [2 * np.pi - 3, -3, -3])
    assert_allclose(np.abs(SPACE.mean([start, end])), [np.pi, 0, 0], atol=1e-15)
    assert_allclose(SPACE.mean([[0.1, 1, 2], [0.4, 4, 8]], np.array([2.0, 1.0]))[1:], [2, 4])
    winding = np.column_stack([np.linspace(0, 20, 60)] * 3)
    wrapped = winding.copy()
    wrapped[:, 0] = np.arctan2(np.sin(winding[:, 0]), np.cos(winding[:, 0]))
    assert_allclose(SPACE.unwrap(wrapped), winding, atol=1e-13)
    assert [len(SPACE.unwrap(wrapped[:k])) for k in (0, 1)] == [0, 1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6), st.integers(-5, 5))
def test_the_shorter_way_does_not_depend_on_the_turn(numbers: list[float], turns: int) -> None:
    start, end = np.reshape(numbers, (2, 3))
    turned = end + [2 * np.pi * turns, 0, 0]
    one, other = SPACE.difference(start, end), SPACE.difference(start, turned)
    assert abs(one[0]) <= np.pi
    assert_allclose(np.exp(1j * other[0]), np.exp(1j * one[0]), atol=1e-12)
    assert_allclose(abs(other[0]), abs(one[0]), atol=1e-12)
    assert_allclose(other[1:], (end - start)[1:])


def test_an_average_on_the_circle_is_the_nearest_to_all() -> None:
    """For small spreads; about any place, the seam too."""
    rng = np.random.default_rng(3)
    for place in np.linspace(-np.pi, np.pi, 9):
        q = np.zeros((40, 3))
        q[:, 0] = place + rng.uniform(-0.01, 0.01, 40)
        expected = place + np.mean(q[:, 0] - place)
        assert_allclose(np.exp(1j * SPACE.mean(q)[0]), np.exp(1j * expected), atol=1e-8)


def test_opposite_positions_have_no_average() -> None:
    with pytest.raises(InputError, match="no average on the circle of turret"):
        SPACE.mean([[0.0, 1, 1], [np.pi, 2, 2]])


def test_the_nearest_turn_within_limits() -> None:
    assert_allclose(SPACE.nearest_turn([0, 0, 0], [3, 7, 7]), [3, 7 - 2 * np.pi, 7])
    assert_allclose(SPACE.nearest_turn([40, 40, 40], [3, 1, 7]), [3 + 12 * np.pi, 1 + 2 * np.pi, 7])
    assert_allclose(SPACE.nearest_turn([0, -40, 0], [0, 1, 0]), [0, 1 - 2 * np.pi, 0])
    beyond = np.array([0.0, 20.0, 30.0])
    assert_allclose(SPACE.nearest_turn([0, 8.0, 0], beyond), [0, 20 - 4 * np.pi, 30])
    narrow = rd.load_robot(arm().urdf.replace('lower="-7.0" upper="9.0"', 'lower="-1.0" upper="1.0"'))
    beyond = np.array([0.0, 3.0 + 4.0 * np.pi, 0.0])  # in any turn
    assert_allclose(ConfigurationSpace(narrow).nearest_turn([0, 2.0, 0], beyond), [0, 3, 0], atol=1e-12)
    for limit in (-7.0, 9.0):  # a place that rounding has put beyond it
        beyond = limit * (1.0 + 1e-14) - 2 * np.pi * np.sign(limit)
        assert SPACE.nearest_turn([0.0, limit, 0.0], [0.0, beyond, 0.0]).tolist() == [0.0, limit, 0.0]


def test_ranges_are_finite_and_contain_more_than_the_limit_that_there_is() -> None:
    none = np.finfo(float).max
    limits = [(0, 0), (-7, 9), (-none, 2), (-none, -5), (5, none), (1, none), (6, 6)]
    parts = [link("base"), *(link(f"l{k}", 1.0, (0.1, 0.2, 0), INERTIA) for k in range(7))]
    for k, at in enumerate(limits):
        kind, parent = ("revolute", f"l{k - 1}") if k else ("continuous", "base")
        parts.append(joint(f"j{k}", kind, parent, f"l{k}", (0, 0, 1), limit=(*at, 3, 40)))
    lower, upper = position_ranges(rd.load_robot(robot("ranges", *parts)), 3.0)
    assert_allclose(lower, [-3, -7, -3, -11, 5, 1, 6])
    assert_allclose(upper, [3, 9, 2, -5, 11, 3, 6])
