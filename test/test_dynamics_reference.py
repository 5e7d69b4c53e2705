# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every published vector, for both formulations; those of the PRR arm itself are computed by compiled functions, too.

The figures are those of a competition team's study of R, PR, RR and PRR mechanisms and of a course's two-link arm;
those of the PRR arm itself were computed by Pinocchio 4.1.0 and checked against MuJoCo (test/data/prr_calgames.json).
"""

import json
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from arms import lesson_arm, mechanism
from formulas import REFERENCE
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.kinematics import Kinematics

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "prr_calgames.json").read_text())["cases"]
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
PRINTED = {"rtol": 0, "atol": 6e-7}  # the source prints six or more decimals


@cache
def dynamics_of(name: str, source: str | Path, g: float = 9.8, compiled: bool = False) -> rd.Dynamics:
    return rd.create_dynamics(name, rd.load_robot(source), gravity=(0, 0, -g), compiled=compiled)


@pytest.fixture(params=rd.available("dynamics"))
def create(request: pytest.FixtureRequest):
    """Makes the dynamics of a URDF, with g = 9.8 as the sources have it unless told otherwise."""
    return partial(dynamics_of, request.param)


def source_prr() -> str:
    """The PRR arm with the numbers of its source, whose inertias are about the joints."""
    return mechanism("PRR", (13, 1, 6), (0, 0.5, 0.343), (0, 0.25, 0.14), (1, 1 / 12, 0.235298))


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "virtual machine"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_prr_golden_states(create, case: int, compiled: bool) -> None:
    dynamics, golden = create(DATA / "prr_calgames.urdf", 9.81, compiled), CASES[case]
    q, qd = np.array(golden["q"]), np.array(golden["qd"])
    assert_allclose(dynamics.inverse(q, qd, np.array(golden["qdd"])), golden["tau_id"], **TIGHT)
    assert_allclose(dynamics.forward(q, qd, np.array(golden["tau_in"])), golden["qdd_fd"], **TIGHT)
    assert_allclose(dynamics.mass_matrix(q), golden["M"], **TIGHT)
    assert_allclose(dynamics.gravity(q), golden["gravity"], **TIGHT)
    assert_allclose(dynamics.coriolis_matrix(q, qd) @ qd, golden["coriolis_times_qd"], **TIGHT)
    assert_allclose(dynamics.energy(q, qd), (golden["kinetic"], golden["potential"]), **TIGHT)


@pytest.mark.parametrize("kind", REFERENCE)
def test_closed_forms(create, kind: str) -> None:
    """M, C and G element by element, with lc2 and lc3 apart: a published implementation confuses them."""
    rng, n = np.random.default_rng(2), len(kind)
    numbers = rng.uniform(0.3, 2.0, (4, n)).tolist()
    dynamics = create(mechanism(kind, *numbers))
    letters = {f"{name}{i}": x for name, row in zip(("m", "l", "lc", "I"), numbers, strict=True)
               for i, x in enumerate(row, 1)}  # fmt: skip
    for q, qd in rng.uniform(-2, 2, (20, 2, n)):
        at = letters | {"g": 9.8} | {f"v{i}": rate for i, rate in enumerate(qd, 1)}
        for i, k in combinations(range(n + 1), 2):  # of the angles i + 1 to k together
            name, angle = "".join(map(str, range(i + 1, k + 1))), q[i:k].sum()
            at |= {f"s{name}": np.sin(angle), f"c{name}": np.cos(angle)}
        found = {"M": dynamics.mass_matrix(q), "C": dynamics.coriolis_matrix(q, qd), "G": dynamics.gravity(q)}
        expected = {name: np.zeros_like(values) for name, values in found.items()}
        for name, formula in REFERENCE[kind].items():
            place = tuple(int(digit) - 1 for digit in name[1:])
            expected[name[0]][place] = eval(formula, at)
            if name[0] == "M":
                expected["M"][place[::-1]] = expected["M"][place]
        for name, values in found.items():
            assert_allclose(values, expected[name], **TIGHT, err_msg=name)


def test_prr_generic_vector(create) -> None:
    dynamics = create(source_prr())
    q, qd, qdd = np.array([0.8, 0.6, -0.4]), np.array([0.3, -1.2, 2.0]), np.array([0.5, 1.5, -2.5])
    tau = [199.02479571, -18.4418636012, -1.7270368372]
    assert_allclose(dynamics.inverse(q, qd, qdd), tau, rtol=1e-10, atol=6e-9)
    accelerations = [0.5693677637, 0.3931433015, 13.2479024055]
    assert_allclose(dynamics.forward(q, qd, np.array([200.0, -10.0, 3.0])), accelerations, rtol=1e-9, atol=6e-11)


@pytest.mark.parametrize(
    ("q", "effort"),
    [
        ((0, 0, 0), (196, 0, 0)),
        ((0, -1.83, -0.12), (196, 38.433228, 7.647196)),
        ((0, -1.83, 2), (196, 29.393322, -1.392709)),
        ((0, -1, 0), (196, 33.727840, 6.926989)),
        ((0, 1.2, 0), (196, -37.357991, -7.672546)),
    ],
    ids=["HOME", "PICK", "CLIMB", "STATION", "PROCESSOR"],
)
def test_prr_holding_efforts(create, q: tuple[float, ...], effort: tuple[float, ...]) -> None:
    for source in (source_prr(), Path(__file__).parent.parent / "urdf" / "prr.urdf"):  # inertia plays no part
        assert_allclose(create(source).gravity(np.array(q, dtype=float)), effort, **PRINTED)


QUARTER = np.pi / 2
MECHANISMS = [
    ("R", [0], [0], [0], [0]),
    ("R", [QUARTER], [0], [0], [-4.9]),
    ("R", [0], [0], [1], [1.25]),
    ("R", [0], [1], [-1], [-1.25]),
    ("PR", [0, 0], [0, 0], [0, 0], [19.6, 0]),
    ("PR", [0, QUARTER], [0, 0], [0, 0], [19.6, -9.8]),
    ("PR", [0, QUARTER], [0, 0], [1, 0], [21.6, -10.8]),
    ("RR", [0, 0], [0, 0], [0, 0], [0, 0]),
    ("RR", [QUARTER, 0], [0, 0], [0, 0], [-19.6, -4.9]),
    ("RR", [0, QUARTER], [0, 0], [0, 0], [-4.9, -4.9]),
    ("RR", [0, QUARTER], [1, 0], [0, 0], [-4.9, -4.4]),
    ("RR", [0, QUARTER], [0, 0], [1, 0], [-1.4, -3.65]),
    ("RR", [0, 0], [1, 0], [-1, 0], [-4.5, -1.75]),
    ("PRR", [0, 0, 0], [0, 0, 0], [0, 0, 0], [29.4, 0, 0]),
    ("PRR", [0, QUARTER, 0], [0, 0, 0], [0, 0, 0], [29.4, -19.6, -4.9]),
    ("PRR", [0, QUARTER, 0], [0, 0, 0], [1, 0, 0], [32.4, -21.6, -5.4]),
    ("PRR", [0, 0, QUARTER], [0, 0, 0], [0, 0, 0], [29.4, -4.9, -4.9]),
    ("PRR", [0, 0, QUARTER], [0, 1, 0], [0, 0, 0], [27.9, -4.9, -4.4]),
    ("PRR", [0, 0, QUARTER], [0, 0, 0], [0, 1, 0], [28.9, -1.4, -3.65]),
]


@pytest.mark.parametrize(("kind", "q", "v", "a", "effort"), MECHANISMS)
def test_unit_mechanisms(create, kind: str, q: list, v: list, a: list, effort: list) -> None:
    dynamics = create(mechanism(kind))
    assert_allclose(dynamics.inverse(*(np.array(x, dtype=float) for x in (q, v, a))), effort, **TIGHT)


def test_prr_kinematics() -> None:
    unit = Kinematics(rd.load_robot(mechanism("PRR", lengths=(0, 2, 1))), compiled=False)
    q = np.array([1.0, 0, 0])
    assert_allclose(unit.pose("tool", q)[:3, 3], [0, 0, 4], **TIGHT)
    planar = unit.jacobian("tool", q)[[2, 0, 4]]  # height, reach, pitch
    assert_allclose(planar, [[1, 0, 0], [0, 3, 1], [0, 1, 1]], **TIGHT)
    assert_allclose(np.linalg.det(planar), 2, **TIGHT)
    small = Kinematics(rd.load_robot(mechanism("PRR", lengths=(0, 0.3, 0.1))), compiled=False)
    for angles, height, reach, pitch in (((60, 0), 1.2, 0.346410, 60), ((60, 60), 1.1, 0.346410, 120)):
        q = np.array([1.0, *np.radians(angles)])
        pose = small.pose("tool", q)
        assert_allclose(pose[[2, 0], 3], [height, reach], **PRINTED)
        assert_allclose(np.degrees(np.arctan2(pose[0, 2], pose[2, 2])), pitch, **TIGHT)
        assert_allclose(np.linalg.det(small.jacobian("tool", q)[[2, 0, 4]]), 0.3 * np.cos(q[1]), **TIGHT)


def test_lesson_two_link_arm(create) -> None:
    dynamics = create(lesson_arm(), 9.81)
    q = np.radians([45.0, 30.0])
    assert_allclose(dynamics.mass_matrix(q), [[1.852115, 0.429808], [0.429808, 0.17]], **PRINTED)
    assert_allclose(dynamics.coriolis_matrix(q, np.array([0.5, -0.3])), [[0.045, -0.03], [0.075, 0]], **PRINTED)
    assert_allclose(dynamics.gravity(q), [20.599382, 1.523409], **PRINTED)
    tau = dynamics.inverse(q, np.array([1.0, -0.5]), np.array([0.5, 0.3]))
    assert_allclose(tau, [21.766882, 1.939313], **PRINTED)


def test_lesson_pendulum_and_exercise_1(create) -> None:
    hanging = create(lesson_arm((2,), (0.5,), (0.5,), (0,)), 9.81)  # a point mass; 0 is horizontal here, not hanging
    assert_allclose(hanging.mass_matrix(np.zeros(1)), [[0.5]], **TIGHT)
    assert_allclose(hanging.gravity(np.radians([-45.0])), [6.936718], **PRINTED)
    single = create(lesson_arm((2,), (0.5,), (0.25,), (0.02,)), 9.81)
    assert_allclose(single.mass_matrix(np.zeros(1)), [[0.145]], **TIGHT)
    assert_allclose(single.gravity(np.radians([45.0])), [3.4684], rtol=0, atol=6e-5)
    assert_allclose(single.gravity(np.zeros(1)), [4.9050], **TIGHT)
