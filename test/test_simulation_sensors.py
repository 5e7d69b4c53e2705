# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Encoders and the way of the states: resolution, noise, delay, jitter, loss and repetition."""

import numpy as np
import pytest

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.simulation.devices import EncoderSettings, Sensors, StateSettings, hardware_library

STEP = 1e-3
NONE = np.zeros(2)


def send(sensors, now, q, qd):
    """Make a reading of a state, whose effort is its position."""
    places = [array.ctypes.data for array in (q, qd, q)]
    hardware_library(len(q)).sensors_read(sensors.record.address, now, *places)


def read(joints, positions, velocities, **states):
    """Positions and velocities (K, n) as the sensors read them, every 2 steps."""
    sensors = Sensors(joints, StateSettings(state_rate=500.0, **states), STEP)
    sensors.draw(len(positions))
    readings = []
    for k, (q, qd) in enumerate(zip(positions, velocities, strict=True)):
        send(sensors, 2 * k, q, qd)
        readings += sensors.arrived(2 * k)
    return np.array([reading.q for reading in readings]), np.array([reading.qd for reading in readings])


def test_positions_are_multiples_of_the_resolution_and_the_nearest_ones():
    resolution, q = 2 * np.pi / 4096, np.random.default_rng(1).uniform(-3, 3, (200, 2))
    kept = q.copy()
    found, _ = read([EncoderSettings(resolution=resolution), EncoderSettings()], q, q)
    counts = found[:, 0] / resolution
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert (np.abs(found[:, 0] - q[:, 0]) <= 0.5 * resolution * (1 + 1e-9)).all()
    assert np.array_equal(found[:, 1], q[:, 1])
    assert np.array_equal(q, kept)  # what it was shown is the plant's


def test_random_numbers_are_those_of_numpy_s_generators():
    """A seed gives the same readings in every version of the package, and in a compiled trial."""
    sigma = np.array([[1e-3, 2e-3], [0.05, 0.3]])  # of position and velocity
    joints = [EncoderSettings(position_noise=p, velocity_noise=v) for p, v in sigma.T]
    noise = np.random.default_rng(np.random.SeedSequence(11).spawn(2)[0]).standard_normal((30, 2, 2))
    found = read(joints, *np.zeros((2, 30, 2)), seed=11)
    np.testing.assert_array_equal(np.stack(found, axis=1), sigma * noise)


def test_differentiated_velocity_is_the_difference_of_what_was_read():
    resolution, period = 0.01, 0.002
    q = 0.3 * np.cos(7.0 * period * np.arange(300))[:, np.newaxis]
    joints = [EncoderSettings(resolution=resolution, velocity_noise=9.0)]
    found, speeds = read(joints, q, np.full_like(q, 1e9), velocity_source="differentiated")
    positions = np.round(q / resolution) * resolution
    np.testing.assert_allclose(found, positions, atol=1e-15)
    velocities = np.diff(positions, axis=0, prepend=positions[:1]) / period
    np.testing.assert_allclose(speeds, velocities, atol=1e-12)


def arrivals(**settings):
    """(step of measurement, step of arrival) of each reading that arrives."""
    states = StateSettings(state_rate=500.0, seed=3, **settings)
    sensors, found = Sensors([EncoderSettings()] * 2, states, STEP), []
    sensors.draw(1000)
    for now in range(2000):
        if now % 2 == 0:
            send(sensors, now, NONE, NONE)
        found.extend((reading.step, now) for reading in sensors.arrived(now))
    return np.array(found)


@pytest.mark.parametrize(
    "settings", [{"state_jitter": 0.02}, {"state_delay": 0.0035, "state_drop": 0.3, "state_repeat": 0.2}]
)
def test_readings_arrive_as_the_plain_formulas_say(settings):
    states = StateSettings(**settings)
    chance = np.random.default_rng(np.random.SeedSequence(3).spawn(2)[1]).random((1000, 3))
    wanted, latest = [], 0
    for k, (late, lost, twice) in enumerate(chance):
        if lost >= states.state_drop:
            latest = max(latest, int(np.ceil(2 * k + (states.state_delay + late * states.state_jitter) / STEP - 1e-6)))
            wanted += [(2 * k, latest)] * (2 if twice < states.state_repeat else 1)
    found = arrivals(**settings)
    assert len(found) > 600 and np.array_equal(found, wanted[: len(found)])


@pytest.mark.parametrize(("delay", "steps"), [(1e-3, 1), (3e-3, 3), (2.4e-3, 3), (0.0301, 31)])
def test_delay_in_whole_steps_upwards(delay, steps):
    measured, came = arrivals(state_delay=delay).T
    assert (came - measured == steps).all()


def test_the_period_of_the_states_is_a_whole_number_of_steps():
    assert StateSettings(state_rate=125.0).period(STEP) == 8
    with pytest.raises(ConfigurationError, match="state_rate"):
        Sensors([EncoderSettings()], StateSettings(state_rate=300.0), STEP)
