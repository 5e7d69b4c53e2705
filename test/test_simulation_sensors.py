# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Encoders and the way of the states: resolution, noise, delay, jitter, loss and repetition."""

import numpy as np
import pytest

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.simulation.hardware.sensors import (
    Encoders,
    EncoderSettings,
    SensorReading,
    Sensors,
    StateSettings,
    Transport,
)

STEP = 1e-3
NONE = np.zeros(2)


def seed(number=3):
    return np.random.SeedSequence(number)


def test_without_settings_they_read_the_truth_to_the_last_bit():
    q, qd = np.array([0.1, -2.3]), np.array([1e-17, 4.0])
    read = Encoders([EncoderSettings()] * 2, 0.002, False, seed()).read(q, qd)
    assert np.array_equal(read[0], q) and np.array_equal(read[1], qd)


def test_positions_are_multiples_of_the_resolution_and_the_nearest_ones():
    resolution = 2 * np.pi / 4096
    encoders = Encoders([EncoderSettings(resolution=resolution), EncoderSettings()], 0.002, False, seed())
    for q in np.random.default_rng(1).uniform(-3, 3, (200, 2)):
        kept = q.copy()
        read, _ = encoders.read(q, NONE)
        counts = read[0] / resolution
        assert counts == pytest.approx(round(counts), abs=1e-9)
        assert abs(read[0] - q[0]) <= 0.5 * resolution * (1 + 1e-9)
        assert read[1] == q[1]
        assert np.array_equal(q, kept)  # what it was shown is the plant's


def test_noise_is_as_strong_as_said_and_of_each_joint_its_own():
    sigma = np.array([[1e-3, 2e-3], [0.05, 0.3]])  # of position and velocity
    joints = [EncoderSettings(position_noise=p, velocity_noise=v) for p, v in sigma.T]
    encoders = Encoders(joints, 0.002, False, seed())
    read = np.array([encoders.read(NONE, NONE) for _ in range(20000)])
    np.testing.assert_allclose(read.std(axis=0), sigma, rtol=0.03)
    np.testing.assert_allclose(read.mean(axis=0) / sigma, 0.0, atol=0.03)
    correlation = np.corrcoef(read.reshape(-1, 4).T)
    np.testing.assert_allclose(correlation, np.eye(4), atol=0.03)
    following = np.corrcoef(read[1:, 0, 0], read[:-1, 0, 0])[0, 1]
    assert abs(following) < 0.03


def test_noise_repeats_with_the_seed_and_only_with_it():
    def read(number):
        encoders = Encoders([EncoderSettings(position_noise=1e-3)], 0.002, False, seed(number))
        first = [encoders.read(np.zeros(1), np.zeros(1))[0][0] for _ in range(50)]
        encoders.reset()
        again = [encoders.read(np.zeros(1), np.zeros(1))[0][0] for _ in range(50)]
        assert first == again
        return first

    assert read(5) == read(5)
    assert read(5) != read(6)


def test_differentiated_velocity_is_the_difference_of_what_was_read():
    resolution, period = 0.01, 0.004
    encoders = Encoders([EncoderSettings(resolution=resolution, velocity_noise=9.0)], period, True, seed())
    q = 0.3 * np.sin(7.0 * period * np.arange(300))
    read = [encoders.read(np.array([value]), np.array([1e9])) for value in q]
    positions = np.round(q / resolution) * resolution
    np.testing.assert_allclose([r[0][0] for r in read], positions, atol=1e-15)
    velocities = np.diff(positions, prepend=positions[0]) / period
    np.testing.assert_allclose([r[1][0] for r in read], velocities, atol=1e-12)


def arrivals(count=2000, every=2, **settings):
    """(step of measurement, step of arrival) of each reading that arrives."""
    given = {"delay": 0.0, "jitter": 0.0, "drop": 0.0, "repeat": 0.0} | settings
    transport = Transport(**given, step=STEP, seed=seed())
    found = []
    for now in range(count * every):
        if now % every == 0:
            transport.send(SensorReading(now, NONE, NONE, NONE))
        found.extend((reading.step, now) for reading in transport.arrived(now))
    return np.array(found)


def test_without_settings_every_reading_comes_at_once():
    measured, came = arrivals().T
    assert np.array_equal(measured, came) and np.array_equal(measured, np.arange(0, 4000, 2))


@pytest.mark.parametrize(("delay", "steps"), [(1e-3, 1), (3e-3, 3), (2.4e-3, 3), (0.0301, 31)])
def test_delay_in_whole_steps_upwards(delay, steps):
    measured, came = arrivals(delay=delay).T
    assert (came - measured == steps).all()


def test_jitter_is_spread_over_its_range_and_nothing_overtakes():
    measured, came = arrivals(delay=0.005, jitter=0.02, every=50).T  # far enough apart not to wait for each other
    late = came - measured
    assert late.min() in (5, 6) and late.max() == 25
    assert late.mean() == pytest.approx(5 + 10.5, abs=0.5)
    measured, came = arrivals(jitter=0.02).T
    assert (np.diff(measured) > 0).all() and (np.diff(came) >= 0).all()
    assert (np.diff(came) == 0).any()  # some come together


def test_lost_and_repeated_states():
    measured, _ = arrivals(count=8000, drop=0.2, repeat=0.1).T
    unique, times = np.unique(measured, return_counts=True)
    assert len(unique) / 8000 == pytest.approx(0.8, abs=0.015)
    assert (times == 2).mean() == pytest.approx(0.1, abs=0.015)
    assert times.max() == 2


def test_one_setting_leaves_the_chances_of_the_others_alone():
    sent = set(range(0, 3980, 2))  # the last ones may still be under way
    assert sent - set(arrivals(drop=0.3)[:, 0]) == sent - set(arrivals(drop=0.3, repeat=0.5, jitter=0.01)[:, 0])


def test_the_period_of_the_states_is_a_whole_number_of_steps():
    assert Sensors([EncoderSettings()], StateSettings(state_rate=125.0), STEP).steps == 8
    with pytest.raises(ConfigurationError, match="state_rate"):
        Sensors([EncoderSettings()], StateSettings(state_rate=300.0), STEP)


def test_settings_are_checked():
    wrong = [("seed", -1), ("seed", 1.5), ("velocity_source", "guessed"), ("state_drop", 1.0), ("state_delay", np.nan)]
    for name, value in wrong:
        with pytest.raises(ConfigurationError, match=name):
            StateSettings(**{name: value})
