# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Published vectors, for both formulations; those of the PRR arm itself are computed by compiled functions, too.

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


def test_lesson_two_link_arm(create) -> None:
    dynamics = create(lesson_arm(), 9.81)
    q = np.radians([45.0, 30.0])
    assert_allclose(dynamics.mass_matrix(q), [[1.852115, 0.429808], [0.429808, 0.17]], **PRINTED)
    assert_allclose(dynamics.coriolis_matrix(q, np.array([0.5, -0.3])), [[0.045, -0.03], [0.075, 0]], **PRINTED)
    assert_allclose(dynamics.gravity(q), [20.599382, 1.523409], **PRINTED)
    tau = dynamics.inverse(q, np.array([1.0, -0.5]), np.array([0.5, 0.3]))
    assert_allclose(tau, [21.766882, 1.939313], **PRINTED)
