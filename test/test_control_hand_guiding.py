# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hand guiding: what a hand may do with the tool, and what directions, corridor and walls do not let it."""

import re
from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_control_tool_laws import ARMS, interpreted, still

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings
from robodyn_ros.control.laws.hand_guiding import FAR, HandGuiding, HandGuidingSettings
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import so3
from robodyn_ros.simulation.plant.mismatch import Mismatch

NO_WALLS = (-FAR,) * 3


def guided(name: str, **settings) -> tuple[HandGuiding, np.ndarray]:
    """A law whose anchor is the arm's pose, and that pose; the arm has no friction."""
    text, link, pose = ARMS[name]
    robot = rd.load_robot(re.sub(r"<dynamics[^>]*/>", "", text))
    config = HandGuidingSettings(link=link, **({"model_error": 0.0} | settings))
    law = HandGuiding(rd.create_dynamics("rnea", robot), 0.0, 0.0, config=config)
    q = np.array(pose)
    law.advance(0.0, q, 0 * q, still(q), 0 * q, 0 * q)
    return law, q


def simulated(law: HandGuiding, q, qd, hand, duration: float):
    """States under the law, traced, and the efforts of a hand: a function of the Jacobian and of q̇."""
    n, fast, none = len(q), interpreted(law), np.zeros(len(q))

    def rate(t, state):
        q, qd = state[:n], state[n:]
        tau = fast.period(1e-3, q, qd, still(q), none, none, none).total + hand(law.task.jacobian(q), qd)
        return np.concatenate((qd, law.dynamics.forward(q, qd, tau)))

    found = solve_ivp(rate, (0.0, duration), np.concatenate((q, qd)), method="LSODA", rtol=1e-8, atol=1e-10)
    assert found.success
    return found.y


def pushed(law: HandGuiding, q, wrench, duration: float, damping: float = 0.0, elbow: float = 0.0):
    """How far a hand moves the tool that pushes, and brakes the tool and the joints."""
    start = law.task.pose(q)

    def hand(jacobian, qd):
        return jacobian.T @ (law.task.chosen(wrench) - damping * (jacobian @ qd)) - elbow * qd

    end = law.task.pose(simulated(law, q, 0 * q, hand, duration)[: len(q), -1])
    return np.concatenate((end[:3, 3] - start[:3, 3], so3.log(end[:3, :3] @ start[:3, :3].T)))


@pytest.mark.parametrize("frame", ["base", "tool"])
def test_along_a_line_the_tool_goes_and_across_it_a_spring_holds(frame: str) -> None:
    law, q = guided("prr", free_directions="x", frame=frame, stiffness=(3000.0,) * 3 + (80.0,) * 3)
    axes = law.task.pose(q)[:3, :3] if frame == "tool" else np.eye(3)
    wrench = np.concatenate((axes @ [1.0, 0.0, 6.0], [0.0, 2.0, 0.0]))
    moved = pushed(law, q, wrench, 4.0, damping=40.0)
    along, _, across = axes.T @ moved[:3]
    assert along > 0.05
    assert across == pytest.approx(6.0 / 3000.0, rel=0.01)
    assert moved[4] == pytest.approx(2.0 / 80.0, rel=0.01)


def test_a_corridor_leaves_play_and_then_resists() -> None:
    law, q = guided("prr", free_directions="x ry", stiffness=(4000.0,) * 3 + (100.0,) * 3, corridor=0.03)
    moved = pushed(law, q, np.array([0.0, 0.0, 8.0, 0.0, 0.0, 0.0]), 12.0, damping=15.0)
    assert moved[2] == pytest.approx(0.03 + 8.0 / 4000.0, rel=0.01)
    inside = law.compute(q + [0.02, 0.0, 0.0], np.zeros(3), still(q)).feedback
    np.testing.assert_allclose(inside, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ARMS)
def test_rotations_only_keep_the_place_and_translations_only_the_orientation(name: str) -> None:
    for free, kept, least in (("rx ry rz", slice(0, 3), 0.05), ("x y z", slice(3, 6), 0.005)):
        law, q = guided(name, free_directions=free, stiffness=(5e4,) * 3 + (2e3,) * 3)
        wrench = np.array([2.0, 1.0, -3.0, 0.4, -0.5, 0.3])
        moved = pushed(law, q, wrench, 1.5, damping=4.0, elbow=0.2)
        others = np.delete(moved, np.arange(6)[kept])
        assert np.abs(moved[kept]).max() < 1e-3
        assert np.abs(others).max() > least


def test_walls_push_back_and_never_pull() -> None:
    stiff = partial(guided, "prr", stiffness=(8000.0, 300.0, 0.0, 100.0, 100.0, 100.0))
    law, q = stiff()
    place = law.task.pose(q)[:3, 3]
    law, q = stiff(walls=(-FAR, -FAR, place[2] - 0.02, place[0] + 0.05, FAR, FAR))
    np.testing.assert_allclose(law.tool_gains(q, law.task.terms(q, 0 * q))[0], np.diag([8000.0, 8000.0, 0.0]))
    moved = pushed(law, q, np.array([12.0, 0.0, -5.0, 0.0, 0.0, 0.0]), 6.0, damping=25.0)
    assert moved[0] == pytest.approx(0.05 + 12.0 / 8000.0, rel=0.01)
    assert moved[2] == pytest.approx(-0.02 - 5.0 / 8000.0, rel=0.01)
    beyond, _ = stiff(walls=(*NO_WALLS, place[0] - 0.001, FAR, FAR))
    inwards = np.linalg.solve(
        beyond.task.jacobian(q), [-2.0, 0.0, 0.0]
    )  # it leaves the wall faster than a damper bears
    force = np.linalg.solve(beyond.task.jacobian(q).T, beyond.compute(q, inwards, still(q)).feedback)
    np.testing.assert_allclose(force, 0.0, atol=1e-9)


def test_nothing_moves_by_itself_and_energy_only_goes() -> None:
    """The arm is thrown against corridor and walls: kinetic energy and that of the springs never grow together."""
    law, q = guided("prr", free_directions="x ry", corridor=0.02)
    place = law.task.pose(q)[:3, 3]
    law, q = guided("prr", free_directions="x ry", corridor=0.02, walls=(*NO_WALLS, place[0] + 0.03, FAR, FAR))
    dynamics, anchor = law.dynamics, law.task.pose(q)

    states = simulated(law, q, np.array([0.8, 0.6, -0.9]), lambda jacobian, qd: 0.0, 1.5)

    def energy(state):
        q, qd = state[:3], state[3:]
        away = np.abs((law.task.pose(q) - anchor)[:3, 3])
        line = max(away[2] - 0.02, 0.0)
        wall = max(law.task.pose(q)[0, 3] - place[0] - 0.03, 0.0)
        return 0.5 * qd @ dynamics.mass_matrix(q) @ qd + 1000.0 * line**2 + 1000.0 * wall**2

    energies = np.array([energy(state) for state in states.T])
    assert np.diff(energies).max() < 1e-6 * energies[0]
    assert energies[-1] < 0.9 * energies[0]


def test_the_anchor_is_where_guiding_began_and_is_set_anew_after_a_break() -> None:
    law, q = guided("prr", free_directions="x")
    law.advance(0.001, q + 0.1, 0 * q, still(q), 0 * q, 0 * q)
    np.testing.assert_array_equal(law._anchor, law.task.pose(q))
    successor, _ = guided("prr", free_directions="z")
    successor.resume(law)
    np.testing.assert_array_equal(successor._anchor, law.task.pose(q))
    law.advance(0.0, q + 0.1, 0 * q, still(q), 0 * q, 0 * q)
    np.testing.assert_array_equal(law._anchor, law.task.pose(q + 0.1))


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InputError, match="free_directions: must be some of x y z rx ry rz"):
        guided("prr", free_directions="forward")
    with pytest.raises(InputError, match="walls: the least x, 2 m, must be less than the greatest, 1 m"):
        guided("prr", walls=(2.0, 0.0, 0.0, 1.0, FAR, FAR))
    with pytest.raises(InputError, match="stiffness: must have a translation above 0 N/m"):
        guided("prr", walls=(*NO_WALLS, 1.0, FAR, FAR), stiffness=(0.0, 0.0, 0.0, 5.0, 5.0, 5.0))


@pytest.mark.parametrize("wrong", [0.95, 1.05])
@pytest.mark.parametrize("name", ARMS)
def test_hands_off_the_arm_stays_where_it_was_left_and_a_hand_moves_it(name: str, wrong: float) -> None:
    """All masses are wrong by 5 %, and there is no friction; a hand pushes with 30 N for half a second, and brakes."""
    law, q = guided(name, model_error=0.1)
    robot, step = law.dynamics.robot, 1e-3
    drawn = Mismatch(mass_scale=wrong).draw(robot, 1)
    true = rd.create_dynamics("rnea", robot, inertial=drawn.inertial)
    safety = SafetySettings(plausibility=False, overspeed=100.0)
    loop = ControlLoop(law, np.full(robot.n, 1e3), safety)
    qd, places = np.zeros(robot.n), []
    push, damper = (
        law.task.chosen(np.array(each)) for each in ([0.0, 0.0, 30.0, 0.0, 0.0, 0.0], [60.0] * 3 + [0.0] * 3)
    )
    for k in range(6000):
        command = loop.update(k * step, k * step, q.copy(), qd.copy())
        assert command is not None
        assert command.fault is None, command.problem
        jacobian = law.task.jacobian(q)
        hand = jacobian.T @ (push - damper * (jacobian @ qd)) if 4000 <= k < 4500 else 0.0 * q
        qd = qd + step * true.forward(q, qd, command.effort + hand)
        q = q + step * qd
        places.append(law.task.pose(q)[:3, 3])
    away = np.linalg.norm(np.array(places) - places[0], axis=1)
    assert away[:4000].max() < 0.02
    np.testing.assert_allclose(places[3999], places[3000], atol=1e-3)  # it has come to rest
    assert away[4000:].max() > 0.05
    assert np.abs(qd).max() < 0.05


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_that_moves_when_guiding_begins_gains_no_energy(name: str) -> None:
    """Each joint by itself was braked within milliseconds, and the blend of the efforts kept its opposite for 0.2 s."""
    law, q = guided(name, model_error=0.1)
    law.forget()
    dynamics, step = law.dynamics, 1e-3
    qd = 0.3 * np.resize([1.0, -0.7, 0.5], len(q)) * np.minimum(dynamics.robot.velocity_limit, 2.0)
    coasting = rd.create_controller("free_drive", dynamics, 0.0, 0.0)
    loop = ControlLoop(coasting, np.full(len(q), 1e3), SafetySettings(plausibility=False, overspeed=100.0))
    energies = []
    for k in range(300):
        if k == 20:
            loop.apply(loop.settings._replace(controller=law))
        command = loop.update(k * step, k * step, q.copy(), qd.copy())
        assert command is not None
        qd = qd + step * dynamics.forward(q, qd, command.effort)
        q = q + step * qd
        energies.append(0.5 * qd @ dynamics.mass_matrix(q) @ qd)
    assert max(energies[20:]) < 1.01 * energies[20]
    assert energies[-1] < 0.99 * energies[20]
