# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples of a recording: every quantity of the same moment, whatever clocks, filters and delays were in between."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import FRICTION, JOINTS, ROBOT, commanded, fourier, moved, prepare, recording, rms
from scipy.interpolate import CubicSpline

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.identification import preparation as signals
from robodyn_ros.identification.estimation.regression import _noise
from robodyn_ros.identification.prepared_recording import (
    HIGHEST,
    LOWEST,
    _candidates,
    cutoff_frequencies,
    prepare_recording,
)
from robodyn_ros.identification.recording import RecordedTrack, Recording
from robodyn_ros.identification.segments import MeanPeriod, Segment
from robodyn_ros.identification.settings import SignalSettings

N = ROBOT.n
T = np.arange(0.0, 8.0, 0.002)
SINGLE = SignalSettings(average=False)


def unexplained(found, **parameters):
    """What the true parameters leave of the samples' efforts, over their root mean square (n,)."""
    dynamics = RNEA(ROBOT, **parameters)
    samples = found.samples
    moving = samples.moving(0.01 * np.abs(samples.qd).max(axis=0)) & (samples.weights > 0.0)[:, None]
    error = samples.effort - samples.regressor(dynamics) @ dynamics.theta()
    return np.sqrt(np.sum(error**2 * moving, axis=0) / np.sum(samples.effort**2 * moving, axis=0))


def test_derivatives_have_no_lag():
    """Against the closed form: of the velocity, a lag of a hundredth of a sample would be ten times as much."""
    q, qd, qdd = fourier(T, N, seed=3)
    part = Segment(T, q, q)
    inner = part.settled(15.0, 0.0)
    assert part.settled(15.0, -0.5) == part.settled(15.0, 0.5) == slice(inner.start + 250, inner.stop - 250)
    for found, true in zip(part.motion(15.0), (q, qd, qdd), strict=True):
        greatest = np.abs(true).max()
        np.testing.assert_allclose(found[200:-200], true[200:-200], atol=1e-5 * greatest)
        np.testing.assert_allclose(found[inner], true[inner], atol=5e-3 * greatest)


@pytest.mark.parametrize("delay", [-0.0021, 0.0007, 0.08])
def test_the_delay_of_the_efforts_is_found(delay):
    """To a hundredth of a sample without noise, with friction whose jumps the filter spreads."""
    (q, _, _), _ = moved(ROBOT, T, seed=4)
    _, effort = moved(ROBOT, T + delay, seed=4, **FRICTION)  # what acts at t + delay is recorded at t
    found = prepare(commanded(T, q, effort), ROBOT, SINGLE)
    assert found.effort == "commanded"
    assert found.delay == pytest.approx(delay, abs=2e-5)
    assert (unexplained(found, **FRICTION) < 1e-3).all()


def test_one_delay_of_several_recordings():
    """A motion too poor to show it has that of the others; measured and commanded efforts lag differently."""
    made = []
    for seed, delay, kind in ((4, 0.012, commanded), (5, -0.002, recording), (6, 0.012, commanded)):
        (q, _, _), _ = moved(ROBOT, T, seed)
        _, effort = moved(ROBOT, T + delay, seed, **FRICTION)
        made.append(kind(T, q, effort))
    found = signals.prepare(made, ROBOT, SINGLE)
    assert [one.effort for one in found] == ["commanded", "measured", "commanded"]
    np.testing.assert_allclose([one.delay for one in found], [0.012, -0.002, 0.012], atol=2e-5)
    assert found[0].delay == found[2].delay


@pytest.mark.parametrize("delay", [0.0, 0.08])
def test_noise_is_kept_out_and_the_errors_are_honest(delay):
    """However late efforts act after they are recorded."""
    rng = np.random.default_rng(5)
    (q, _, _), effort = moved(ROBOT, T, seed=5, **FRICTION)
    coarse = 1e-4 * np.round(q / 1e-4)
    noise = 0.01 * rms(effort)
    found = prepare(recording(T, coarse, effort + noise * rng.normal(size=effort.shape), T - delay), ROBOT, SINGLE)
    assert 3.0 < found.cutoff < 30.0
    assert abs(found.delay - delay) < 4.0 * found.delay_error < 1e-3
    # A hundredth of noise, of whose band 2 cutoff / 500 Hz are left.
    assert (unexplained(found, **FRICTION) < 1.5 * 0.01 * np.sqrt(2.0 * found.cutoff / 500.0)).all()


def test_the_error_of_the_delay_is_that_of_repetition():
    """At 100 Hz with a cutoff frequency of 34 Hz, where more of the efforts' rate of change is noise than motion."""
    t = T[:2500:5]
    q, qd, qdd = fourier(t, N, seed=3)
    effort, rng = RNEA(ROBOT).inverse(q, qd, qdd), np.random.default_rng(2)
    scale = 0.02 * rms(effort)
    made = (recording(t, q, effort + scale * rng.normal(size=effort.shape)) for _ in range(25))
    found = [prepare(one, ROBOT, SignalSettings(average=False, cutoff=34.0)) for one in made]
    error = np.mean([one.delay_error for one in found])
    np.testing.assert_allclose(np.std([one.delay for one in found], ddof=1), error, rtol=0.3)


def test_efforts_at_other_times_and_states_at_jittered_times():
    rng = np.random.default_rng(6)
    t = T + rng.uniform(-4e-4, 4e-4, len(T))
    at = np.arange(0.0003, 8.0, 0.0037)
    (q, _, _), _ = moved(ROBOT, t, seed=6)
    _, effort = moved(ROBOT, at, seed=6, **FRICTION)
    found = prepare(recording(t, q, effort, at), ROBOT, SINGLE)
    assert abs(found.delay) < 1e-4
    assert (unexplained(found, **FRICTION) < 3e-3).all()


def test_nothing_is_made_of_a_gap():
    (q, _, _), effort = moved(ROBOT, T, seed=7, **FRICTION)
    kept = (T < 4.0) | (T > 4.6)
    with_effort = (T < 6.5) | (T > 6.7)
    found = prepare(recording(T[kept], q[kept], effort[with_effort], T[with_effort]), ROBOT, SINGLE)
    assert len(np.unique(found.samples.motions)) == 3
    times = found.samples.t
    assert not ((times > 4.0) & (times < 4.6)).any() and not ((times > 6.5) & (times < 6.7)).any()
    assert "3 stretches" in found.notes[0]
    assert (unexplained(found, **FRICTION) < 1e-3).all()
    for gap, motions in ((0.62, 1), (0.59, 2)):
        bridged = prepare(recording(T[kept], q[kept], effort, T), ROBOT, SignalSettings(average=False, gap=gap))
        assert len(np.unique(bridged.samples.motions)) == motions


@pytest.mark.parametrize("period", [0.0, 3.1])
def test_a_motion_that_repeats_is_averaged(period):
    """Four periods of 3.1 s, no whole number of samples, between a lead-in and a lead-out."""
    rng = np.random.default_rng(8)
    long = np.arange(0.0, 14.0, 0.002)
    phase = np.clip(np.minimum(long, long[-1] - long) / 0.7, 0.0, 1.0)[:, None]
    q = phase**4 * (35.0 - 84.0 * phase + 70.0 * phase**2 - 20.0 * phase**3) * fourier(long, N, seed=8, period=3.1)[0]
    spline = CubicSpline(long, q)
    effort = RNEA(ROBOT, **FRICTION).inverse(q, spline(long, 1), spline(long, 2))
    noise = 0.01 * rms(effort) * rng.normal(size=effort.shape)
    found = prepare(recording(long, q, effort + noise), ROBOT, SignalSettings(period=period, cutoff=10.0))
    assert found.periods == 4
    assert np.ptp(found.samples.t) < 3.1 and set(found.samples.weights.tolist()) == {4.0}
    assert found.used == pytest.approx(12.4, abs=0.01)
    single = prepare(recording(long, q, effort + noise), ROBOT, SignalSettings(average=False, cutoff=10.0))
    ratio = unexplained(found, **FRICTION) / unexplained(single, **FRICTION)
    assert (ratio < 0.7).all()  # 1/2 but for what is not noise


def test_a_joint_that_stands_still_before_a_gap_hides_no_period():
    t = np.arange(0.0, 18.0, 0.002)
    q = fourier(t, N, seed=8, period=1.3)[0]
    q[t < 9.0, 2] = q[0, 2]
    kept = (t < 9.0) | (t > 9.2)
    for period in (0.0, 1.3):
        found = prepare_recording(recording(t[kept], q[kept], q[kept]), ROBOT, SignalSettings(period=period))
        assert [one and one.period for one in found.repetitions] == pytest.approx([1.3, 1.3], abs=1e-3)


@pytest.mark.parametrize("rest", [6.0, 40.0])
def test_rests_around_the_motion_hide_no_period(rest):
    """However long the recorder ran before and after it, and also if its period is given."""
    t = np.arange(0.0, 2.0 * rest + 7.8, 0.01)
    q = fourier(np.clip(t - rest, 0.0, 7.8), N, seed=8, period=1.3)[0]
    for period in (0.0, 1.3):
        (found,) = prepare_recording(recording(t, q, q), ROBOT, SignalSettings(period=period)).repetitions
        assert found == pytest.approx((rest, rest + 7.8, 1.3), abs=0.03)


def test_a_rest_in_the_middle_of_a_recording_is_no_period():
    """Where the positions do not change at all, no period is better than another."""
    t = np.arange(0.0, 60.0, 0.01)
    q = fourier(np.where(t < 2.0, t, np.clip(t - 50.0, 2.0, 12.0)), N, seed=8)[0]
    assert prepare_recording(recording(t, q, q), ROBOT, SignalSettings(period=4.0)).repetitions == (None,)


def test_the_mean_of_the_periods_is_the_motion_itself():
    """From the start of the first period on."""
    q = fourier(T, N, seed=8, period=3.1)[0]
    mean = MeanPeriod.of(Segment(T + 5.0, q, 2.0 * q), 0.7, 3.1, 2)
    at = 0.7 + 0.002 * np.arange(1550)
    np.testing.assert_allclose(mean.t, 5.0 + at)
    true = fourier(at, N, seed=8, period=3.1)[0]
    np.testing.assert_allclose((mean.q, mean.effort), (true, 2.0 * true), atol=1e-9)


def test_what_does_not_repeat_is_not_averaged():
    t = np.arange(0.0, 10.0, 0.002)
    q = fourier(t, N, seed=9, period=20.0)[0]
    assert prepare(recording(t, q, q), ROBOT, SignalSettings(align=False)).periods == 0


def test_a_joint_that_sticks_says_nothing_as_far_as_the_filter_reaches():
    """Held by friction, the shoulder takes any effort; what the filter spreads of it is left out, and no more."""
    q = fourier(T, N, seed=10)[0]
    pace = np.interp(T, [0.0, 4.6, 5.0, 6.0, 6.4, 8.0], [1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    q[:, 1] = fourier(np.cumsum(pace) * 0.002, N, seed=10)[0][:, 1]
    samples = prepare(recording(T, q, q), ROBOT, SignalSettings(average=False, align=False, cutoff=10.0)).samples
    moving = samples.moving(0.01 * np.abs(samples.qd).max(axis=0))
    resting = (samples.t > 5.0 - 0.03) & (samples.t < 6.0 + 0.03)
    assert not moving[resting, 1].any()
    assert moving[:, 0].mean() > 0.7 and moving[~resting, 1].mean() > 0.7
    assert moving[resting, 2].any()


def test_commands_at_the_limit_count_nothing():
    (q, _, _), effort = moved(ROBOT, T, seed=11)
    limit = ROBOT.effort_limit
    wanted = effort * 1.3 * limit / np.abs(effort).max(axis=0)
    found = prepare(commanded(T, q, wanted), ROBOT, SignalSettings(average=False, align=False))
    assert 0.0 < np.mean(found.samples.weights == 0.0) < 0.9
    assert "at its limit" in found.notes[-1]
    assert "what the drives add" in found.notes[0]
    assert not prepare(recording(T, q, effort), ROBOT, SignalSettings(average=False, align=False)).notes
    over = (np.abs(np.column_stack([np.interp(found.samples.t, T, w) for w in wanted.T])) > limit).any(axis=1)
    assert (found.samples.weights[over] == 0.0).all()
    away = np.abs(found.samples.t[:, None] - T[(np.abs(wanted) >= limit).any(axis=1)]).min(axis=1) * found.cutoff
    near, far = found.samples.weights[away < 0.9], found.samples.weights[away > 1.1]  # periods of the cutoff frequency
    assert len(near) and len(far) and not near.any() and far.all()
    measured = prepare(recording(T, q, wanted), ROBOT, SignalSettings(average=False, align=False))
    assert (measured.samples.weights == 1.0).all()


def test_commands_at_the_limit_in_one_period_count_nothing_in_the_mean_of_several():
    """They go on from the end of a period to the beginning of the next."""
    q = fourier(T, N, seed=8, period=1.5)[0]
    effort = np.zeros_like(q)
    effort[2240:2260] = ROBOT.effort_limit  # from the second to the third of four periods of 750
    recorded = prepare_recording(commanded(T, q, effort), ROBOT, SignalSettings(average=False, cutoff=10.0))
    mean = MeanPeriod.of(recorded.segments[0], 1.5, 1.5, 4)
    (samples,) = replace(recorded, segments=(mean,)).segment_samples(0.0)
    near = (samples.rows < 10 + 50) | (samples.rows >= 740 - 50)  # a period of the cutoff frequency around
    assert np.array_equal(recorded.weights(samples) == 0.0, near)
    slow = replace(samples, cutoff=0.1)  # whose filter reaches beyond the period
    assert not slow.moving(np.full(N, 0.1)).any() and not recorded.weights(slow).any()


def test_which_effort_counts():
    (q, _, _), effort = moved(ROBOT, T, seed=12)
    both = recording(T, q, effort, commanded=RecordedTrack(T, 2.0 * effort))
    assert prepare(both, ROBOT).effort == "measured"
    assert prepare(both, ROBOT, SignalSettings(effort="commanded")).effort == "commanded"
    dead = recording(T, q, 0.0 * effort, commanded=RecordedTrack(T, effort))
    assert prepare(dead, ROBOT).effort == "commanded"  # a driver without a sensor


def test_a_joint_that_turns_on_and_on_does_not_jump():
    robot = rd.load_robot(ROBOT.urdf.replace('name="wrist" type="revolute"', 'name="wrist" type="continuous"'))
    q = fourier(T, N, seed=13)[0]
    q[:, 2] += 2.0 * T
    wrapped = q.copy()
    wrapped[:, 2] = (q[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
    found = prepare(recording(T, wrapped, q), robot, SignalSettings(align=False))
    np.testing.assert_allclose(np.interp(found.samples.t, T, q[:, 2]), found.samples.q[:, 2], atol=1e-4)


def test_samples_of_recordings_are_joined_and_chosen():
    made = []
    for seed in (14, 15):
        (q, _, _), effort = moved(ROBOT, T, seed=seed, **FRICTION)
        made.append(prepare(recording(T, q, effort), ROBOT, SINGLE).samples)
    dynamics = RNEA(ROBOT, **FRICTION)
    joined = type(made[0]).joined(made)
    each = np.concatenate([samples.regressor(dynamics) for samples in made])
    assert np.array_equal(joined.regressor(dynamics), each)
    rows = np.arange(len(joined)) % 3 == 1
    assert np.array_equal(joined.chosen(rows).regressor(dynamics), each[rows])
    assert len(np.unique(joined.motions)) == 2


@pytest.mark.parametrize(
    ("made", "config", "said"),
    [
        (lambda q, e: recording(T, 0.0 * q + 0.3, e), {}, "no joint moves by more than 0.01 rad or m"),
        (lambda q, e: Recording("run", JOINTS, RecordedTrack(T, q)), {}, "neither efforts in the states nor commands"),
        (lambda q, e: Recording("run", JOINTS[::-1], RecordedTrack(T, q), RecordedTrack(T, e)), {},
         "must be of the joints elevator, shoulder, wrist, in this order, not of wrist, shoulder, elevator"),
        (lambda q, e: recording(T, q, 0.0 * e), {}, "neither efforts in the states nor commands other than 0"),
        (lambda q, e: commanded(T, q, 0.0 * e), {}, "neither efforts in the states nor commands other than 0"),
        (lambda q, e: recording(T, q, e), {"effort": "commanded"}, "there are no commands"),
        (lambda q, e: commanded(T, q, e), {"effort": "measured"}, "states without efforts"),
        (lambda q, e: recording(T[:1], q[:1], e[:1]), {}, "only one state"),
        (lambda q, e: recording(T[:300], q[:300], e[:300]), {}, "in 0.598 s there are no 1 s of states and efforts"),
        (lambda q, e: recording(T[:220:20], q[:220:20], e[:220:20]), {"shortest": 0.3}, "in 0.4 s there are no 0.6 s"),
        (lambda q, e: recording(T[::50], q[::50], e[::50]), {}, "there is a state every 0.1 s only"),
        (lambda q, e: commanded(T, q, moved(ROBOT, T + 0.6, seed=16)[1]), {"delay": 0.5}, "to act 600 ms later than"),
        (lambda q, e: recording(T, q, e, T + 100.0), {}, "no 1 s of states and efforts without a gap"),
        (lambda q, e: recording(T[:600], q[:600], e[:600]), {"cutoff": 2.0}, "too short: nothing is left between"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said(made, config, said):
    (q, _, _), effort = moved(ROBOT, T, seed=16)
    with pytest.raises(InputError, match=f"run: .*{said}"):
        prepare(made(q, effort), ROBOT, SignalSettings(**config))


def test_a_period_in_other_units_is_refused():
    with pytest.raises(ConfigurationError, match=r"period: must be 0, or 0\.1 s at least"):
        SignalSettings(period=0.006)


@pytest.mark.parametrize("ratio", [0.5, 1.01, 3.0])
def test_no_cutoff_frequency_is_higher_than_the_rate_of_the_states_allows(ratio):
    """But for the lowest, which is there for any recording."""
    found = cutoff_frequencies([SimpleNamespace(step=HIGHEST / (ratio * LOWEST))])
    assert found[0] == LOWEST and (found[1:] <= ratio * LOWEST).all()
    assert (len(found) > 1) == (ratio == 3.0)


def test_a_lag_is_a_candidate_where_the_early_section_repeats_itself_within_a_hundredth_of_its_power():
    """By the differences themselves; the motion is louder later, so that the second repetition is none."""
    k = np.arange(600)
    wave = np.column_stack([np.sin(2.0 * np.pi * k / 90.0), 0.5 * np.cos(2.0 * np.pi * k / 90.0)])
    motion = wave * (1.0 + np.maximum(k - 300.0, 0.0) / 400.0)[:, None]
    part = motion[90:210]
    apart = [np.sum((motion[90 + lag : 210 + lag] - part) ** 2) / np.sum(part**2) for lag in range(300)]
    expected = [lag for lag in range(21, 299) if apart[lag - 1] > apart[lag] <= apart[lag + 1] and apart[lag] < 0.01]
    assert _candidates(motion, 20) == expected == [90]
    assert min(apart[150:]) > 0.01


def test_the_noise_of_a_joint_without_samples_is_none():
    residual, joint = np.array([0.2, -0.1, 0.3]), np.array([0, 0, 0])
    np.testing.assert_allclose(_noise(residual, joint, 2, True, 4.0), [2.0 * 1.4826 * 0.2, 0.0])
    np.testing.assert_allclose(_noise(residual, joint, 2, False, 4.0), [2.0 * np.sqrt(0.14 / 3.0), 0.0])
