# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The motion that shows a payload, within limits or refused; and what is found from it, with unknown friction."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, gains
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.own_motions import ACCELERATION, MARGIN, PayloadSettings, payload_motion
from robodyn_ros.errors import NotReadyError
from robodyn_ros.identification.estimation.payload import estimate_online
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings

PRR = rd.load_robot("prr")
DYNAMICS = rd.create_dynamics("rnea", PRR)
LIMITS = Limits.of(PRR, PRR.effort_limit)
PERIOD = 0.004


@pytest.mark.parametrize("held", [(1.0, 0.6, -0.4), (0.06, -1.97, 2.09), (2.1, 2.0, -1.5), (1.0, 1.9, 0.0)])
def test_it_begins_and_ends_where_the_arm_is_held_and_keeps_to_the_limits(held):
    held, config = np.array(held), PayloadSettings()
    motion = payload_motion(DYNAMICS, held, DYNAMICS.gravity(held), LIMITS, config)
    np.testing.assert_array_equal(motion.positions[[0, -1]], [held, held])
    assert not motion.velocities[[0, -1]].any()
    samples = [motion.sample(t) for t in np.linspace(0.0, motion.duration, 2000)]
    q, qd, qdd = (np.array([getattr(sample, name) for sample in samples]) for name in ("q", "qd", "qdd"))
    assert (q >= np.minimum(PRR.lower + MARGIN, held) - 1e-9).all()
    assert (q <= np.maximum(PRR.upper - MARGIN, held) + 1e-9).all()
    assert (np.abs(q - held) <= config.distances(PRR) + 1e-9).all()
    assert (np.abs(qd) <= config.speed * PRR.velocity_limit * 1.001).all()
    assert (np.abs(qdd) <= ACCELERATION * 1.001).all()
    assert (np.ptp(q, axis=0) >= 0.99 * config.distances(PRR)).all()
    assert motion.duration < 15.0


def test_what_cannot_be_is_refused():
    held = np.array([1.0, 0.6, -0.4])
    effort = DYNAMICS.gravity(held)
    text = PRR.urdf
    for limits in ('lower="0" upper="2.1"', 'lower="-2" upper="2"', 'lower="-1.5" upper="2.1"'):
        assert limits in text
        text = text.replace(limits, 'lower="0" upper="0.11"')
    narrow = rd.create_dynamics("rnea", rd.load_robot(text))
    with pytest.raises(NotReadyError, match="no joint has room"):
        payload_motion(narrow, np.full(3, 0.055), effort, LIMITS, PayloadSettings())
    with pytest.raises(NotReadyError, match=r"elevator would need about .* N on the path"):
        payload_motion(DYNAMICS, held, effort + [350.0, 0.0, 0.0], LIMITS, PayloadSettings())


FRICTION = [
    FrictionSettings(viscous=20.0, coulomb=15.0),
    FrictionSettings(viscous=0.5, coulomb=2.0),
    FrictionSettings(0.2, 0.6),
]


@pytest.mark.parametrize("mass", [0.0, 0.8, 2.0])
def test_the_payload_is_found_in_spite_of_friction_and_noise(mass):
    """Friction that no model knows, and encoders with noise."""
    com = np.array([0.04, 0.0, 0.35])
    true = rd.create_dynamics("rnea", PRR, payload=rd.Payload("hand", mass, com) if mass else None)
    plant = Plant(true, PlantSettings(step=PERIOD / 2), friction=FRICTION, q0=[1.0, 0.6, -0.4])
    law = ComputedTorque(DYNAMICS, *gains(ComputedTorque, DYNAMICS, np.zeros(3), 12.0, 1.0))
    safety = SafetySettings()
    loop, rng = ControlLoop(law, PRR.effort_limit, safety), np.random.default_rng(3)
    rows, goal = [], None
    while goal is None or goal.outcome is None:
        t = plant.time
        q, qd = plant.q + 1e-4 * rng.standard_normal(3), plant.qd + 5e-3 * rng.standard_normal(3)
        command = loop.update(t, t, q, qd)
        plant.apply(command.effort)
        if goal is not None:
            is_lost = 300 <= len(rows) < 320  # as if drives had not given it
            rows.append((t, q, command.effort + 90.0 * is_lost, not (is_lost or command.saturated.any())))
        elif t > 1.0:
            goal = loop.follow(payload_motion(DYNAMICS, command.reference.q, command.effort, LIMITS, PayloadSettings()))
        plant.step(2)
    assert goal.outcome == "succeeded"
    found = estimate_online(rd.create_dynamics("rnea", PRR), "hand", *map(np.array, zip(*rows, strict=True)))
    assert found.payload.mass == pytest.approx(mass, abs=0.04)
    assert not found.identified[2]  # y is across the plane
    if mass:
        np.testing.assert_allclose(np.array(found.payload.com)[[0, 2]], com[[0, 2]], atol=0.01)


def test_too_few_states_are_refused():
    for count, said in ((99, "has 99 states; .* at least 100"), (100, r"takes 0.099 s; .* at least 0.2 s")):
        rows = np.zeros((count, 3))
        with pytest.raises(rd.InputError, match=said):
            estimate_online(DYNAMICS, "hand", 1e-3 * np.arange(count), rows, rows, np.ones(count, dtype=bool))
