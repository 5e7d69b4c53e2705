# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A motion integrated in one compiled call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import awkward
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import SimulationError
from robodyn_ros.simulation.integrators.rk4 import rk4_step
from robodyn_ros.simulation.rollout import rollout

PRR = (Path(__file__).parent.parent / "urdf" / "prr.urdf").read_text()


@pytest.mark.parametrize("name", rd.available("dynamics"))
@pytest.mark.parametrize("arm", ["prr", *awkward()])
def test_it_is_the_step_again_and_again(name: str, arm: str) -> None:
    robot = rd.load_robot((awkward() | {"prr": PRR})[arm])
    dynamics = rd.create_dynamics(name, robot)
    rng = np.random.default_rng(10)
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    tau = rng.uniform(-5, 5, (50, robot.n))
    motion = rollout(dynamics, q, qd, tau, 1e-3, 50)
    assert_allclose([motion.q[0], motion.qd[0]], [q, qd], rtol=0)
    for k in range(50):
        q, qd = rk4_step(lambda a, b, u=tau[k]: dynamics.forward(a, b, u), q, qd, 1e-3)
    assert_allclose([motion.q[-1], motion.qd[-1]], [q, qd], rtol=1e-11, atol=1e-11)
    slow = rollout(rd.create_dynamics(name, robot, compiled=False), motion.q[0], motion.qd[0], tau, 1e-3, 50)
    assert_allclose(slow.q, motion.q, rtol=1e-11, atol=1e-11)


def test_energy_of_a_passive_arm_over_a_minute() -> None:
    """Gravity across the rail, so that the arm swings; RK4 at 1 kHz."""
    robot = rd.load_robot(PRR)
    dynamics = rd.create_dynamics("rnea", robot, gravity=(9.81, 0, 0))
    motion = rollout(dynamics, [0.0, 0.4, 0.3], np.zeros(3), np.zeros(3), 1e-3, 60_000)
    energy = np.sum(dynamics.energy(*motion), axis=0)
    scale = np.ptp(dynamics.energy(*motion).potential)
    assert scale > 20
    assert np.abs(energy[:10_000] - energy[0]).max() < 2e-7 * scale
    assert np.abs(energy - energy[0]).max() < 2e-6 * scale


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt: must be positive"),
        ({"dt": np.nan}, "dt: must be positive"),
        ({"steps": -1}, "steps: must not be negative"),
        ({"tau": np.zeros((4, 3))}, "tau: must be of shape"),
        ({"q": np.zeros(2)}, "q: must be of shape"),
        ({"qd": [0, np.inf, 0]}, "qd: must be finite"),
    ],
)
def test_wrong_input(change: dict[str, object], message: str) -> None:
    given = {"q": np.zeros(3), "qd": np.zeros(3), "tau": np.zeros(3), "dt": 1e-3, "steps": 5} | change
    with pytest.raises(rd.InputError, match=message):
        rollout(rd.create_dynamics("rnea", rd.load_robot(PRR)), **given)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_motion_beyond_the_range_of_numbers(compiled: bool) -> None:
    """It ends with the step and the state that lead there, whoever does the steps."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR), compiled=compiled)
    with pytest.raises(SimulationError, match=r"step 0 of 0.001 s, from q = \[.*leads beyond the range of numbers"):
        rollout(dynamics, [0, 0.3, 0], [0, 1e200, 0], np.zeros(3), 1e-3, 5)
    with pytest.raises(SimulationError, match=r"step [1-9]\d* of 10 s"):
        rollout(dynamics, [0, 0.3, 0], [0, 1.0, 0.2], np.zeros(3), 10.0, 500)
