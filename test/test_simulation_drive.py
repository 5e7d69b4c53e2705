# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drives and actuators: lag, rate limit, delay and resolution, against closed forms and SciPy."""

import arms
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.hardware.actuators import Actuators, CommandSettings, DriveSettings

STEP, MASS = 1e-3, 2.0


def rail(limit=100.0):
    """One mass on a horizontal rail, whose velocity is the impulse over its mass."""
    urdf = arms.robot(
        "slider",
        arms.link("base"),
        arms.link("mass", MASS, None, (0.1, 0, 0, 0.1, 0, 0.1)),
        arms.joint("slide", "prismatic", "base", "mass", (1, 0, 0), None, None, (-1e3, 1e3, 1e3, limit)),
    )
    return Plant(rd.create_dynamics("rnea", rd.load_robot(urdf)), PlantSettings(step=STEP))


def run(plant, actuators, commands, steps):
    """Velocity after each step, with a command {step: effort}."""
    found = []
    for now in range(steps):
        if now in commands:
            actuators.command(now, actuators.checked([commands[now]]))
        steady = actuators.steady(now)
        plant.apply(actuators.advance(now) if steady is None else steady)
        plant.step()
        found.append(plant.qd[0])
    return np.array(found)


def actuators(delay=0.0, limit=100.0, **settings):
    return Actuators([DriveSettings(**settings)], delay, STEP, [limit])


def test_lag_is_that_of_a_first_order_system():
    """v = F/m (t - T (1 - exp(-t/T))), whatever the step."""
    lag, force = 0.0137, 8.0
    found = run(rail(), actuators(lag=lag), {0: force}, 400)
    t = STEP * np.arange(1, 401)
    np.testing.assert_allclose(found, force / MASS * (t + lag * np.expm1(-t / lag)), rtol=1e-11)


@pytest.mark.parametrize("lag", [1e-5, 0.3e-3, 0.02, 0.5])
@pytest.mark.parametrize("duration", [1e-4, 1e-3, 0.07])
def test_a_drive_solves_its_equation(lag, duration):
    """Ramp and lag together, over several commands, against SciPy's integration of the two equations."""
    rate = 40.0
    drive = Actuators([DriveSettings(lag=lag, rate_limit=rate)], 0.0, duration, [100.0])
    state, total = np.zeros(3), 0.0
    for command in (3.0, -2.0, 0.5, 0.5):
        arrival = abs(command - state[0]) / rate  # the ramp's end is a kink: SciPy must stop there
        for part, slope in ((min(arrival, duration), np.sign(command - state[0]) * rate), (duration - arrival, 0.0)):
            if part > 0.0:
                solved = solve_ivp(
                    lambda _, x, slope=slope: [slope, (x[0] - x[1]) / lag, x[1]],
                    (0.0, part),
                    state,
                    method="Radau",
                    rtol=1e-11,
                    atol=1e-13,
                )
                state = solved.y[:, -1]
        drive.command(0, drive.checked([command]))
        total += duration * drive.advance(0)[0]
        assert total == pytest.approx(state[2], rel=1e-7, abs=1e-11)


def test_rate_limit_without_lag_is_a_ramp():
    rate, force = 50.0, 3.0
    found = run(rail(), actuators(rate_limit=rate), {0: force}, 200)
    t = STEP * np.arange(1, 201)
    ramp = force / rate
    expected = np.where(t < ramp, 0.5 * rate * t**2, 0.5 * rate * ramp**2 + force * (t - ramp)) / MASS
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("delay", [0.0, 1e-3, 4e-3, 0.3e-3, 2.75e-3, 0.0316])
def test_delay_to_the_fraction_of_a_step(delay):
    """The mass has moved for the time since the command reached the drive, not since the next step began."""
    found = run(rail(), actuators(delay), {3: 5.0, 50: -1.0}, 120)
    t = STEP * np.arange(1, 121)
    first, second = (np.maximum(t - at * STEP - delay, 0.0) for at in (3, 50))
    np.testing.assert_allclose(found, (5.0 * first - 6.0 * second) / MASS, atol=1e-13)


def test_resolution_and_limit():
    act = actuators(resolution=0.25, limit=10.0)
    commands = [0.1, 0.13, -0.4, 3.14159, 1e4, -1e6]
    assert [act.checked([value])[0] for value in commands] == [0.0, 0.25, -0.5, 3.25, 10.0, -10.0]


def test_efforts_that_lie_apart_in_memory_are_each_their_joint_s():
    table = np.arange(9.0).reshape(3, 3)
    act = Actuators([DriveSettings()] * 3, 0.0, STEP, [100.0] * 3)
    np.testing.assert_array_equal(act.checked(table[:, 1]), [1.0, 4.0, 7.0])
    np.testing.assert_array_equal(act.checked(table[2, ::-1]), [8.0, 7.0, 6.0])


def test_an_ideal_drive_gives_what_it_is_told_to_the_last_bit():
    act, command = actuators(), 0.1 + 1e-16
    act.command(0, act.checked([command]))
    assert act.steady(0)[0] == command


@pytest.mark.parametrize("effort", [[1e300], [-1.1e6], [np.nan], [np.inf], [1.0, 2.0], [], "much", None])
def test_what_no_drive_can_give_is_refused(effort):
    with pytest.raises(InputError, match="effort"):
        actuators().checked(effort)


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="lag"):
        DriveSettings(lag=-1.0)
    with pytest.raises(ConfigurationError, match="on_command_timeout: must be one of hold, zero, brake"):
        CommandSettings(on_command_timeout="panic")
    with pytest.raises(ConfigurationError, match="brake"):
        CommandSettings(brake=1)
