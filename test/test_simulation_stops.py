# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stops and limits: bouncing, compliant stops, drives at their greatest speed; against closed forms and SciPy."""

import arms
import numpy as np
import pytest
from plants import MASS, energy, on_a_rail, plant_of, restitution
from scipy.integrate import solve_ivp

from robodyn_ros.simulation import FrictionSettings, StopSettings

G = 9.81


def mass_on_a_rail(axis=(1, 0, 0), limit=(-5, 1, 3, 50), **options):
    return on_a_rail(limit, axis, **options)


@pytest.mark.parametrize(("restitution", "compiled"), [(0.3, True), (0.8, False), (1.0, True)])
def test_a_ball_bounces(restitution, compiled):
    """Dropped from 1 m: the n-th peak has height e²ⁿ, and contacts come after √(2h/g) (1 + 2 (e + e² + …))."""
    stops = StopSettings(restitution=restitution)
    ball = mass_on_a_rail((0, 0, 1), (0, 3, 100, 50), stops=stops, compiled=compiled, q0=[1.0])
    fall = np.sqrt(2.0 / G)
    for bounce in range(1, 4):
        contact = fall * (1.0 + 2.0 * sum(restitution**k for k in range(1, bounce)))
        ball.reset()
        ball.advance(contact + restitution**bounce * fall)  # the time of the n-th peak, to the step
        late = ball.time - contact - restitution**bounce * fall
        assert ball.q[0] == pytest.approx(restitution ** (2 * bounce) - 0.5 * G * late**2, abs=1e-11)
        assert ball.qd[0] == pytest.approx(-G * late, abs=1e-10)


def test_bounces_end():
    """Infinitely many in finite time, √(2h/g) (1 + e)/(1 - e); then it lies there."""
    ball = mass_on_a_rail((0, 0, 1), (0, 3, 100, 50), stops=StopSettings(restitution=0.5), q0=[1.0])
    end = np.sqrt(2.0 / G) * 1.5 / 0.5
    ball.advance(end + 2e-3)
    assert (ball.q[0], ball.qd[0]) == (0.0, 0.0)
    ball.reset()
    ball.advance(0.99 * end)
    assert 0.0 <= ball.q[0] < 0.01
    assert ball.q[0] > 0.0 or ball.qd[0] > 0.0


@pytest.mark.parametrize("greatest", [0.0, 1.0])
def test_energy_never_grows_at_stops(greatest):
    """Random arms thrown at random, passive, with stops close by: whatever they hit, and however they bounce."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        stops = [StopSettings(restitution=e) for e in rng.uniform(0.0, greatest, 4)]
        arm = plant_of(arms.random_robot(seed, joints=4), 5e-4, stops=stops)
        robot = arm.dynamics.robot
        arm.reset(rng.uniform(0.8 * robot.lower, 0.8 * robot.upper), rng.uniform(-4, 4, robot.n))
        before = start = energy(arm)
        for _ in range(1000):
            arm.step()
            assert (robot.lower <= arm.q).all() and (arm.q <= robot.upper).all()
            now = energy(arm)
            assert now - before < 1e-7 * (abs(start) + 1.0)
            before = now
        assert now < start


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("dissipation", "speed"), [(0.0, 2.0), (0.2, 1.0), (0.5, 2.0), (2.0, 1.5)])
def test_restitution_of_a_compliant_stop(dissipation, speed, side):
    stop = StopSettings(stiffness=2e4, dissipation=dissipation)
    limit = (-5, 1, 100, 50) if side > 0 else (-1, 5, 100, 50)
    mass = mass_on_a_rail((1, 0, 0), limit, step=2e-4, stops=stop)
    mass.reset([side * 0.9], [side * speed])
    mass.advance(0.1 / speed + 0.2)
    assert side * mass.qd[0] < 0.0 and side * mass.q[0] < 1.0
    assert -side * mass.qd[0] / speed == pytest.approx(restitution(dissipation * speed), rel=1e-6)


@pytest.mark.parametrize(("stiffness", "dissipation"), [(1e8, 0.5), (1e10, 0.5), (1e6, 4.0)])
def test_a_stop_that_is_stiff_for_the_step_takes_its_energy_too(stiffness, dissipation):
    """By the same law. RK4 gave all of the speed back."""
    mass = mass_on_a_rail(limit=(-5, 1, 100, 50), stops=StopSettings(stiffness=stiffness, dissipation=dissipation))
    mass.reset([0.9], [1.0])
    mass.advance(0.2)
    assert -mass.qd[0] == pytest.approx(restitution(dissipation), rel=1e-3)


def test_a_compliant_stop_holds_a_load_at_the_depth_of_a_spring():
    mass = mass_on_a_rail(stops=StopSettings(stiffness=5e3, dissipation=1.0))
    mass.reset([0.99], [0.5])
    mass.apply([40.0])
    mass.advance(20.0)
    assert mass.q[0] == pytest.approx(1.0 + 40.0 / 5e3, abs=1e-9)
    mass.halt()  # beyond the limit, where reset would refuse to go
    assert mass.qd[0] == 0.0
    mass.apply([-10.0])
    mass.advance(0.5)
    assert mass.q[0] < 1.0


def test_a_compliant_stop_of_an_arm_against_scipy():
    """The elbow runs into its stop and comes back, passive in gravity; the whole arm against SciPy."""
    arm = plant_of(arms.lesson_arm(), 5e-4, stops=StopSettings(stiffness=800.0, dissipation=0.4))
    dynamics, start = arm.dynamics, np.array([-1.4, 2.6, -0.3, 5.0])
    end = float(dynamics.robot.upper[1])

    def slope(_, x):
        depth = max(x[1] - end, 0.0)
        push = max(800.0 * depth * (1.0 + 0.4 * x[3]), 0.0)
        return np.concatenate((x[2:], dynamics.forward(x[:2], x[2:], [0.0, -push])))

    truth = solve_ivp(slope, (0.0, 0.4), start, method="DOP853", rtol=1e-11, atol=1e-13, max_step=1e-3)
    assert truth.y[1].max() > end + 0.01 and truth.y[1, -1] < end
    arm.reset(start[:2], start[2:])
    arm.advance(0.4)
    np.testing.assert_allclose(np.concatenate((arm.q, arm.qd)), truth.y[:, -1], rtol=0, atol=1e-7)


@pytest.mark.parametrize(("sign", "compiled"), [(1.0, True), (-1.0, True), (-1.0, False)])
def test_a_drive_at_its_greatest_speed(sign, compiled):
    """10 N on 2 kg up to 3 m/s, reached after 0.6 s; then only what friction takes, until it is asked to slow down."""
    rough = [FrictionSettings(viscous=0.5, coulomb=1.0)]
    limit = (-90, 90, 3, 50)
    mass = mass_on_a_rail(limit=limit, friction=rough, compiled=compiled)
    mass.apply([sign * 10.0])

    def slope(_, x):
        return x[1], (9.0 - 0.5 * x[1]) / MASS

    def fast(_, x):
        return x[1] - 3.0

    fast.terminal = True
    reached = solve_ivp(slope, (0.0, 5.0), [0.0, 0.0], events=fast, method="DOP853", rtol=1e-12, atol=1e-13)
    mass.advance(2.0)
    assert mass.qd[0] == sign * 3.0
    assert sign * mass.q[0] == pytest.approx(reached.y[0, -1] + 3.0 * (2.0 - reached.t[-1]), rel=1e-9)
    mass.apply([sign * 2.0])  # less than friction takes at that speed, 2.5 N
    mass.advance(0.5)
    assert 2.0 < sign * mass.qd[0] < 3.0
    mass.apply([sign * -50.0])
    mass.advance(0.1)
    assert sign * mass.qd[0] < 1.0


def test_a_load_can_be_faster_than_the_drive():
    """Going down, gravity overruns the limit; the drive neither pushes on nor brakes unless it is told to."""
    lift = mass_on_a_rail((0, 0, 1), (-50, 50, 3, 50))
    lift.apply([-30.0])
    lift.advance(1.0)
    pushed = 3.0 / (G + 15.0)
    assert lift.qd[0] == pytest.approx(-3.0 - G * (1.0 - pushed), rel=1e-9)
    lift.apply([40.0])
    lift.advance(0.2)
    assert lift.qd[0] == pytest.approx(-3.0 - G * (1.0 - pushed) + (20.0 - G) * 0.2, rel=1e-9)
    lift.reset([0.0], [-5.0])
    for effort in (0.0, -0.1):
        lift.apply([effort])
        lift.advance(0.01)
    assert lift.qd[0] == pytest.approx(-5.0 - G * 0.02, rel=1e-9)


def test_a_drive_that_may_not_move():
    """A velocity limit of zero: no effort moves the joint, a load does."""
    mass = mass_on_a_rail(velocity_limit=[0.0])
    for effort in (40.0, -40.0):
        mass.apply([effort])
        mass.advance(0.5)
        assert (mass.q[0], mass.qd[0]) == (0.0, 0.0)
    lift = mass_on_a_rail((0, 0, 1), velocity_limit=[0.0])
    lift.advance(0.5)
    assert lift.qd[0] == pytest.approx(-0.5 * G, rel=1e-12)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit_midpoint", "dop853"])
def test_any_integrator_drives_the_plant(integrator):
    """The ball's first rebound, compiled and not; an exact parabola to all but Euler's method."""
    ball = mass_on_a_rail(
        (0, 0, 1), (0, 3, 100, 50), stops=StopSettings(restitution=0.5), q0=[1.0], integrator=integrator
    )
    ball.advance(0.6)
    rise = 0.6 - np.sqrt(2.0 / G)
    height = 0.5 * np.sqrt(2.0 * G) * rise - 0.5 * G * rise**2
    assert ball.q[0] == pytest.approx(height, abs=2e-2 if integrator == "semi_implicit_euler" else 1e-10)
