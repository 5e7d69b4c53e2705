# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Laws of the tool in closed loop: the impedance that was asked for, decoupled motion, forces, singular poses."""

from pathlib import Path

import numpy as np
import pytest
from arms import random_robot
from industrial import urdfs
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import robodyn_ros as rd
from robodyn_ros.control import LawStep, SafetySettings
from robodyn_ros.control.laws import cartesian_impedance
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.laws.cartesian_impedance import UNBRAKED, CartesianImpedance, CartesianImpedanceSettings
from robodyn_ros.control.laws.operational_space import OperationalSpace, OperationalSpaceSettings
from robodyn_ros.engine.library import only_listed
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.kinematics import so3

URDF = Path(__file__).parents[1] / "urdf"
INDUSTRIAL = urdfs()
ARMS = {
    "prr": ((URDF / "prr.urdf").read_text(), "", [0.6, 0.5, 0.9]),
    "eight joints": (random_robot(7, 8, branching=0.0), "", [0.3, -0.4, 0.5, 0.6, -0.3, 0.4, 0.2, 0.5]),
}
if "panda" in INDUSTRIAL:
    # The finger is one more joint: null space, as is the elbow.
    ARMS["panda"] = (INDUSTRIAL["panda"].read_text(), "panda_hand_tcp", [0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02])


def interpreted(law: rd.Controller) -> LawStep:
    """The traced law as CasADi's virtual machine runs it."""
    with only_listed():
        return LawStep(law, safety=SafetySettings(integral_limit=1e3))


def dynamics_of(name: str):
    return rd.create_dynamics("rnea", rd.load_robot(ARMS[name][0]), compiled=False)


def still(q: np.ndarray) -> Reference:
    return Reference(np.asarray(q), *np.zeros((3, len(q))))


def motion(law, target, q, wrench=None):
    """Times and states (2 n, 100) in 0.5 s under a law that holds a target, with a wrench on the task, or none."""
    n, dynamics = len(q), law.dynamics

    def rate(t, state):
        q, qd = state[:n], state[n:]
        tau = law.compute(q, qd, still(target)).total
        if wrench is not None:
            tau = tau + law.task.jacobian(q).T @ wrench
        return np.concatenate((qd, dynamics.forward(q, qd, tau)))

    times = np.linspace(0.0, 0.5, 100)
    found = solve_ivp(rate, (0.0, 0.5), np.concatenate((q, 0.0 * q)), t_eval=times, rtol=1e-7, atol=1e-9)
    assert found.success
    return times, found.y


def error_of(law, q, wanted):
    """Position and rotation vector from a pose to where the arm is at q."""
    pose = law.task.pose(q)
    return np.concatenate((pose[:3, 3] - wanted[:3, 3], so3.log(pose[:3, :3] @ wanted[:3, :3].T)))


@pytest.mark.parametrize("frame", ["base", "tool"])
@pytest.mark.parametrize("name", ARMS)
def test_a_push_meets_the_impedance_that_was_asked_for(name: str, frame: str) -> None:
    """A step of a small wrench: Λ ẍ + D ẋ + K x = F, with Λ of the pose, by its exact solution."""
    _, link, q = ARMS[name]
    settings = CartesianImpedanceSettings(
        link=link, frame=frame, stiffness=(400.0, 700.0, 550.0, 40.0, 25.0, 30.0), damping_ratio=0.6,
    )  # fmt: skip
    law = CartesianImpedance(dynamics_of(name), 40.0, 12.0, config=settings)
    q, k = np.array(q), len(law.task.axes)
    wrench = 1e-3 * law.task.axes @ [1.0, -2.0, 1.5, 0.2, 0.1, -0.3]
    times, states = motion(law, q, q, wrench)
    wanted = law.task.pose(q)
    found = np.array([law.task.axes @ error_of(law, state[: len(q)], wanted) for state in states.T])
    stiffness = law.diagonal(law._stiffness, wanted[:3, :3])
    inertia = law.task.terms(q, 0.0 * q).inertia
    # The ratio of damping: D = 2 ζ G where G Λ⁻¹ G = K.
    values, vectors = np.linalg.eigh(inertia)
    root, back = (vectors * values**0.5) @ vectors.T, (vectors / values**0.5) @ vectors.T
    values, vectors = np.linalg.eigh(back @ stiffness @ back)
    damping = 1.2 * root @ (vectors * values**0.5) @ vectors.T @ root
    system = np.zeros((2 * k, 2 * k))
    system[:k, k:] = np.eye(k)
    system[k:] = -np.linalg.solve(inertia, np.hstack((stiffness, damping)))
    rest = np.concatenate((np.linalg.solve(stiffness, wrench), np.zeros(k)))
    linear = np.array([(rest - expm(system * t) @ rest)[:k] for t in times])
    for rows in (slice(0, 3), slice(3, None)):
        if linear[:, rows].size:
            assert np.abs(found - linear)[:, rows].max() < 0.01 * np.abs(linear[:, rows]).max()


@pytest.mark.parametrize("name", ARMS)
def test_operational_space_decouples_the_directions(name: str) -> None:
    """An offset in one direction dies away as ë + 2 ζ ω ė + ω² e = 0, and no other direction moves."""
    _, link, q = ARMS[name]
    law = OperationalSpace(
        dynamics_of(name), 40.0, 12.0, config=OperationalSpaceSettings(link=link, natural_frequency=10.0)
    )
    n, q = len(q), np.array(q)
    jacobian = law.task.jacobian(q)
    offset = np.zeros(len(jacobian))
    offset[0] = 1e-3
    start = q + np.linalg.pinv(jacobian) @ offset
    times, states = motion(law, q, start)
    wanted = law.task.pose(q)
    found = np.array([law.task.axes @ error_of(law, state[:n], wanted) for state in states.T])
    expected = found[0, 0] * (1.0 + 10.0 * times) * np.exp(-10.0 * times)
    assert_allclose(found[:, 0], expected, atol=1e-5)
    others = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])[: len(jacobian)]
    others[0] = 0.0
    assert np.abs(found * others).max() < 1e-5


def test_the_null_space_moves_the_posture_and_not_the_tool() -> None:
    law = CartesianImpedance(dynamics_of("eight joints"), 60.0, 15.0)
    q = np.array(ARMS["eight joints"][2])
    jacobian = law.task.jacobian(q)
    mass = law.dynamics.mass_matrix(q)
    null = np.linalg.svd(jacobian)[2][6:].T
    for offset in (0.2 * null[:, 0], -0.3 * null[:, 1]):
        # A posture elsewhere; the tool's reference stays, for it is that of q here.
        kept = law.motion_error
        law.motion_error = lambda q_, qd_, _, *rest, kept=kept: kept(q_, qd_, still(q), *rest)
        tau = law.compute(q, 0.0 * q, still(q + offset)).total
        del law.motion_error
        qdd = law.dynamics.forward(q, 0.0 * q, tau)
        assert np.abs(jacobian @ qdd).max() < 1e-9
        assert qdd @ mass @ offset > 0.0
    assert np.abs(null).max() > 0.0


@pytest.mark.parametrize("name", ARMS)
def test_a_joint_that_flees_is_braked_by_the_posture_gain(name: str) -> None:
    """Beyond its reference's speed and a third of its limit, by M Kd times what is too much; below, not at all."""
    _, link, q = ARMS[name]
    law = CartesianImpedance(dynamics_of(name), 40.0, 12.0, config=CartesianImpedanceSettings(link=link))
    free = CartesianImpedance(dynamics_of(name), 40.0, 12.0, config=CartesianImpedanceSettings(link=link))
    free._unbraked = np.full(len(q), 1e9)
    q, limit, signs = np.array(q), law.dynamics.robot.velocity_limit, (-1.0) ** np.arange(len(q))
    bound, mass = UNBRAKED * np.where(limit > 0.0, limit, np.inf), law.dynamics.mass_matrix(q)
    assert np.isfinite(bound).any()
    qd = signs * np.where(np.isfinite(bound), bound, 1.0)
    for speed, wanted in ((0.99, 0.0), (1.7, 0.0), (1.7, 1.5), (2.0, -1.9), (-1.7, 1.6)):
        reference = Reference(q, wanted * qd, 0.0 * q, 0.0 * q)
        over = np.maximum(0.0, np.abs(speed * qd) - np.maximum(bound, abs(wanted) * np.abs(qd)))
        braked = law.compute(q, speed * qd, reference).total - free.compute(q, speed * qd, reference).total
        assert_allclose(braked, -mass @ (12.0 * over * np.sign(speed * qd)), rtol=1e-9, atol=1e-9)
        assert braked.any() == (abs(speed) > max(1.0, abs(wanted)))


def test_the_null_space_turns_joints_away_from_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the margin a joint is driven back, and the tool does not move; elsewhere nothing is."""
    name = "eight joints"
    laws = [CartesianImpedance(dynamics_of(name), 0.0, 0.0)]
    monkeypatch.setattr(cartesian_impedance, "MARGIN", 0.0)
    laws.append(CartesianImpedance(dynamics_of(name), 0.0, 0.0))
    law, robot, q = laws[0], laws[0].dynamics.robot, np.array(ARMS[name][2])
    assert not law.turning_back(q, np.ones(8)).any()
    margin = np.minimum(0.1, 0.1 * (robot.upper - robot.lower))
    bounded = np.flatnonzero(np.isfinite(robot.lower) & np.isfinite(robot.upper))
    driven = []
    for joint in bounded:
        for end, sign in ((robot.lower, 1.0), (robot.upper, -1.0)):
            near = q.copy()
            near[joint] = end[joint] + 0.25 * sign * margin[joint]
            pushed = law.turning_back(near, 0.0 * q)
            assert pushed[joint] == pytest.approx(sign * 400.0 * 0.75 * margin[joint])
            assert np.count_nonzero(pushed) == 1
            task = law.task.terms(near, 0.0 * q)
            with_it, without = (each.compute(near, 0.0 * q, still(near)).total for each in laws)
            change = np.linalg.solve(task.mass, with_it - without)
            assert np.abs(task.jacobian @ change).max() < 1e-8
            driven.append(change @ task.mass @ pushed)
    assert min(driven) > -1e-9
    assert max(driven) > 1.0  # where the arm can turn away without moving the tool, it does
    assert not laws[1].turning_back(robot.lower + 1e-3, np.ones(8))[bounded].any()


def along_x(force: float) -> tuple[float, ...]:
    return (force, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("frame", ["base", "tool"])
@pytest.mark.parametrize("name", ARMS)
def test_what_keeps_the_tool_from_its_reference_does_not_press_on_the_wall(name: str, frame: str) -> None:
    """At rest, away from its reference, the tool's force is that asked for, along the normal; gravity apart."""
    _, link, q = ARMS[name]
    config = OperationalSpaceSettings(
        link=link, frame=frame, force_directions="x", force=along_x(7.0), natural_frequency=20.0
    )
    law = OperationalSpace(dynamics_of(name), 0.0, 0.0, config=config)
    q, away = np.array(q), np.linspace(0.01, -0.02, len(q))
    task = law.task.terms(q, 0.0 * q)
    found = law.compute(q, 0.0 * q, still(q + away))
    force = task.inverse.T @ (found.total - found.gravity)
    rotation = law.task.pose(q)[:3, :3] if frame == "tool" else np.eye(3)
    normal = law.task.chosen(np.concatenate((rotation[:, 0], np.zeros(3))))
    assert normal @ force == pytest.approx(7.0, abs=1e-9)
    assert np.abs(force - 7.0 * normal).max() > 0.5  # the other directions do correct their error
    led = law.compute(q, 0.0 * q, still(q + away)._replace(qdd=away)).total - found.total
    wanted = law.task.jacobian(q + away) @ away
    gained = task.jacobian @ np.linalg.solve(law.dynamics.mass_matrix(q), led)
    assert_allclose(gained, wanted - (normal @ wanted) * normal, atol=1e-9)
    stiffness, damping = law.tool_gains(q, task)
    assert_allclose(stiffness @ normal, 0.0, atol=1e-9)
    for gain in (stiffness, damping):
        assert_allclose(gain, gain.T, atol=1e-9)
        assert np.linalg.eigvalsh(gain).min() > -1e-9


def test_errors_are_clipped_and_do_not_flip_at_a_half_turn() -> None:
    law = CartesianImpedance(dynamics_of("prr"), 0.0, 0.0, config=CartesianImpedanceSettings(reach=(0.05, 0.3)))
    q = np.array(ARMS["prr"][2])
    jacobian = law.task.jacobian(q)
    far = law.motion_error(q, 0 * q, still(q + [0.5, 0.0, 0.0]), jacobian).error
    assert np.linalg.norm(far[:3]) == pytest.approx(0.05)
    turns = np.linspace(np.pi - 0.2, np.pi + 0.2, 401)
    law = CartesianImpedance(dynamics_of("prr"), 0.0, 0.0, config=CartesianImpedanceSettings(reach=(9.0, 3.2)))
    errors = [law.motion_error(q, 0 * q, still(q + [0.0, 0.0, turn]), jacobian).error[4] for turn in turns]
    assert np.abs(np.diff(errors)).max() < 0.04
    assert abs(errors[200]) < 1e-6


@pytest.mark.parametrize("frame", ["base", "tool"])
def test_without_stiffness_the_tool_is_free(frame: str) -> None:
    """Its spring and its damper have no effort; the planar arm has no null space for a posture."""
    dynamics = dynamics_of("prr")
    law = CartesianImpedance(dynamics, 30.0, 9.0, config=CartesianImpedanceSettings(stiffness=(0.0,) * 6, frame=frame))
    q, qd = np.array([0.6, 0.5, 0.9]), np.array([0.1, -0.2, 0.3])
    efforts = law.compute(q, qd, still(q + 0.05))
    assert_allclose(efforts.feedback, 0.0, atol=1e-9)
    assert_allclose(interpreted(law).period(0.01, q, qd, still(q + 0.05), *np.zeros((3, 3))).total, efforts.total)


def test_settings_that_cannot_be() -> None:
    dynamics = dynamics_of("prr")
    with pytest.raises(InputError, match="force_directions: must be some of x y z"):
        OperationalSpace(dynamics, 1.0, 1.0, config=OperationalSpaceSettings(force_directions="up"))
    with pytest.raises(ConfigurationError, match="link: must be a text, not 3"):
        CartesianImpedanceSettings(link=3)
    with pytest.raises(InputError, match="nowhere"):
        CartesianImpedance(dynamics, 1.0, 1.0, config=CartesianImpedanceSettings(link="nowhere"))
