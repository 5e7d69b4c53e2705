# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drives: lag, rate limit, delay and resolution, against closed forms and SciPy."""

import numpy as np
import pytest
from plants import MASS, on_a_rail
from scipy.integrate import solve_ivp

from robodyn_ros.simulation.devices import CommandSettings, Drives, DriveSettings, hardware_library

STEP = 1e-3


def act(drives, now):
    """A step of the drives."""
    hardware_library(len(drives.effort)).drives_act(drives.record.address, now)


def run(drives, commands, steps):
    """Velocity after each step of a mass on a rail, with a command {step: effort}."""
    plant, found = on_a_rail((-1e3, 1e3, 1e3, 100.0)), []
    for now in range(steps):
        if now in commands:
            drives.command(now, [commands[now]])
        act(drives, now)
        plant.apply(drives.effort)
        plant.step()
        found.append(plant.qd[0])
    return np.array(found)


def drives(delay=0.0, limit=100.0, step=STEP, count=1, **settings):
    commands = CommandSettings(command_delay=delay, brake=False, command_timeout=10.0)
    return Drives([DriveSettings(**settings)] * count, commands, step, [limit] * count)


def given(drives, *efforts):
    """The effort for each command, of drives that follow at once."""
    found = []
    for effort in efforts:
        drives.command(0, effort)
        act(drives, 0)
        found.append(drives.effort.copy())
    return np.array(found)


def test_lag_is_that_of_a_first_order_system():
    """v = F/m (t - T (1 - exp(-t/T))), whatever the step."""
    lag, force = 0.0137, 8.0
    found = run(drives(lag=lag), {0: force}, 400)
    t = STEP * np.arange(1, 401)
    np.testing.assert_allclose(found, force / MASS * (t + lag * np.expm1(-t / lag)), rtol=1e-11)


@pytest.mark.parametrize("lag", [1e-5, 0.3e-3, 0.02, 0.5])
@pytest.mark.parametrize("duration", [1e-4, 1e-3, 0.07])
def test_a_drive_solves_its_equation(lag, duration):
    """Ramp and lag together, over several commands, against SciPy's integration of the two equations."""
    rate = 40.0
    drive = drives(step=duration, lag=lag, rate_limit=rate)
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
        drive.command(0, [command])
        act(drive, 0)
        total += duration * drive.effort[0]
        assert total == pytest.approx(state[2], rel=1e-7, abs=1e-11)


def test_rate_limit_without_lag_is_a_ramp():
    rate, force = 50.0, 3.0
    found = run(drives(rate_limit=rate), {0: force}, 200)
    t = STEP * np.arange(1, 201)
    ramp = force / rate
    expected = np.where(t < ramp, 0.5 * rate * t**2, 0.5 * rate * ramp**2 + force * (t - ramp)) / MASS
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("delay", [0.0, 1e-3, 4e-3, 0.3e-3, 2.75e-3, 0.0316])
def test_delay_to_the_fraction_of_a_step(delay):
    """The mass has moved for the time since the command reached the drive, not since the next step began."""
    found = run(drives(delay), {3: 5.0, 50: -1.0}, 120)
    t = STEP * np.arange(1, 121)
    first, second = (np.maximum(t - at * STEP - delay, 0.0) for at in (3, 50))
    np.testing.assert_allclose(found, (5.0 * first - 6.0 * second) / MASS, atol=1e-13)


def test_a_later_command_that_arrives_with_an_earlier_one_replaces_it():
    """Any number of them, and the one before them stays."""
    found = run(drives(0.0025), {2: 4.0, 3: 5.0}, 20)
    often = drives(0.0025)
    often.command(2, [4.0])
    for effort in range(50):
        often.command(3, [-float(effort)])
    np.testing.assert_array_equal(run(often, {3: 5.0}, 20), found)


def test_a_command_in_every_step_of_a_long_delay():
    """Each command acts for a step, as late as the delay says."""
    delay, efforts = 0.05, np.random.default_rng(2).normal(size=300)
    found = run(drives(delay), dict(enumerate(efforts)), 300)
    late = np.concatenate((np.zeros(50), efforts[:250]))
    np.testing.assert_allclose(found, np.cumsum(late) * STEP / MASS, atol=1e-13)


def test_resolution_and_limit():
    commands = [[0.1], [0.13], [-0.4], [3.14159], [1e4], [-1e6]]
    found = given(drives(resolution=0.25, limit=10.0), *commands)
    np.testing.assert_array_equal(found.ravel(), [0.0, 0.25, -0.5, 3.25, 10.0, -10.0])


def test_efforts_that_lie_apart_in_memory_are_each_their_joint_s():
    table = np.arange(9.0).reshape(3, 3)
    found = given(drives(count=3), table[:, 1], table[2, ::-1])
    np.testing.assert_array_equal(found, [[1.0, 4.0, 7.0], [8.0, 7.0, 6.0]])


def test_an_ideal_drive_gives_the_command_to_the_last_bit():
    commands = [[0.1 + 1e-16], [1.0 / 3.0]]
    np.testing.assert_array_equal(given(drives(), *commands), commands)
