# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What identification is for: a payload that is known."""

from dataclasses import replace

import industrial
import numpy as np
import pytest
from arms import mechanism
from identified import AWKWARD, PRR, RR, Unknown
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification import Samples
from robodyn_ros.identification.estimation.payload import _prior_ball, estimate_payload


@pytest.mark.parametrize("name", ["rr", "tilted", "welded"])
def test_a_payload_without_noise(name):
    robot = {"rr": RR, **AWKWARD}[name]
    link = "tool" if name == "welded" else robot.bodies[-1].name
    held = rd.Payload(link, 1.7, (0.05, -0.03, 0.12), np.diag([0.011, 0.013, 0.007]))
    arm = Unknown(robot)
    motion = arm.motion(200)
    empty = RNEA(robot, inertial=arm.dynamics.parameters.inertial)
    full = RNEA(robot, inertial=arm.dynamics.parameters.inertial, payload=held)
    effort = full.inverse(motion.q, motion.qd, motion.qdd)
    found = estimate_payload(empty, link, replace(motion, effort=effort), viscous=0.0, coulomb=0.0)
    planar = name == "rr"
    assert_allclose(found.payload.mass, 1.7, rtol=1e-9)
    assert_allclose(np.delete(found.payload.com, [1] * planar), np.delete(held.com, [1] * planar), rtol=1e-8)
    if not planar:
        assert_allclose(found.payload.inertia, held.inertia, atol=1e-8)
    assert found.identified == tuple(not planar or k in (0, 1, 3, 6) for k in range(10))
    assert bool(found.reason) == planar
    assert (found.rms < 1e-10 * found.rms_without).all()


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_a_payload_far_out_is_found_however_large_the_arm_is(size):
    """Of a weight without extent, which is at the boundary of what a body can be."""
    lengths, mass = (size, 0.7 * size), 5.0 * size**3
    inertias = 0.1 * mass * size**2, 0.08 * mass * size**2
    arm = rd.load_robot(mechanism("RR", (2.0 * mass, mass), lengths, (0.5 * size, 0.3 * size), inertias))
    motion = Unknown(RR).motion(400)
    held = rd.Payload("tool", mass, (0.3 * size, 0.0, 0.4 * size))
    effort = RNEA(arm, payload=held).inverse(motion.q, motion.qd, motion.qdd)
    noise = 1e-3 * np.sqrt(np.mean(effort**2, axis=0)) * np.random.default_rng(2).normal(size=effort.shape)
    found = estimate_payload(RNEA(arm), "tool", replace(motion, effort=effort + noise), viscous=0.0, coulomb=0.0)
    assert abs(found.payload.mass - mass) < 4.0 * found.mass_error < 0.02 * mass
    assert_allclose(found.payload.com, held.com, atol=0.01 * size)


def test_a_payload_from_a_few_poses_at_rest():
    """Mass and centre of mass come from gravity alone, as sure as their standard errors say."""
    robot = rd.load_robot(industrial.panda())
    held = rd.Payload("panda_hand_tcp", 2.0, (0.01, 0.04, 0.06), np.diag([0.004, 0.005, 0.003]))
    rng = np.random.default_rng(3)
    q = np.repeat(robot.lower + (robot.upper - robot.lower) * rng.uniform(0.1, 0.9, (6, robot.n)), 20, axis=0)
    rest = np.zeros_like(q)
    effort = RNEA(robot, payload=held).inverse(q, rest, rest) + 0.1 * rng.normal(size=q.shape)
    samples = Samples(np.arange(120.0), q, rest, rest, effort)
    found = estimate_payload(RNEA(robot), "panda_hand_tcp", samples, viscous=0.0, coulomb=0.0)
    assert abs(found.payload.mass - 2.0) < 4.0 * found.mass_error < 0.1
    assert (np.abs(found.payload.com - held.com) < 4.0 * found.com_error).all()
    assert found.com_error.max() < 7e-4
    assert found.identified == (True,) * 4 + (False,) * 6
    nothing = RNEA(robot).inverse(q, rest, rest) + 0.1 * rng.normal(size=q.shape)
    empty = estimate_payload(RNEA(robot), "panda_hand_tcp", replace(samples, effort=nothing), viscous=0.0, coulomb=0.0)
    assert 0.0 < empty.payload.mass < 0.05
    assert_allclose(_prior_ball(0.1)[[0, 4, 6, 9]], [4.18879, *np.full(3, 0.0167552)], rtol=1e-5)  # of water


def test_a_payload_that_cannot_be_felt():
    samples = Unknown(RR).motion(50)
    with pytest.raises(InputError, match="'link0' is fixed to the base"):
        estimate_payload(RNEA(RR), "link0", samples)
    with pytest.raises(InputError, match="of 2 joints; 'prr' has 3"):
        estimate_payload(RNEA(PRR), "hand", samples)
    with pytest.raises(InputError, match="too few of them"):
        estimate_payload(RNEA(RR), "tool", samples.chosen(slice(0, 4)))
