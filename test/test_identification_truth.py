# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What identification leaves unexplained, and which friction it claims, on recordings whose efforts Pinocchio made."""

import sys
from pathlib import Path

import numpy as np
import pytest
from recordings import FRICTION, ROBOT, fourier, moved, prepare, recording, rms

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification import SignalSettings, identify
from robodyn_ros.robot.description import UrdfEditor

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

T = np.arange(0.0, 12.3, 0.004)


@pytest.mark.parametrize(("arm", "seed"), [("prr", 0), ("double_pendulum", 9), ("prr", 20), ("double_pendulum", 17)])
@pytest.mark.parametrize("noisy", [False, True])
def test_recordings_of_another_library(arm, seed, noisy):
    """Cases of benchmarks/identification.py, which has many more of them, of longer arms."""
    from identification import NOISE_FREE, TIMES_NOISE, make, measure

    found = measure(make(arm, seed, noisy))
    bound = TIMES_NOISE * found["noise"] if noisy else NOISE_FREE
    assert max(found["unexplained"], found["left_out"]) < bound
    assert not found["false_friction"]


def test_the_mean_of_periods_has_no_spike_where_it_begins_again():
    """A transient dies out in the first period: the mean ends elsewhere than it begins."""
    q = fourier(T, ROBOT.n, seed=1, period=4.0)[0] + 0.004 * np.exp(-T / 0.8)[:, None]
    spline = np.gradient(np.gradient(q, T, axis=0), T, axis=0)
    effort = RNEA(ROBOT).inverse(q, np.gradient(q, T, axis=0), spline)
    mean = prepare(recording(T, q, effort), ROBOT, SignalSettings(cutoff=20.0, period=4.0))
    assert mean.periods >= 2 or mean.cutoff == 20.0
    found = identify(ROBOT, mean.samples)
    assert np.nanmax(found.fit.relative) < 1e-3
    assert np.abs(mean.samples.qdd).max() < 1.1 * np.abs(spline).max()


@pytest.mark.parametrize("coarse", [1e-4, 1e-3])
def test_the_cutoff_frequency_follows_the_coarsest_encoder(coarse):
    """One joint's positions are exact, so that its motion stands out of its noise at every frequency."""
    (q, _, _), effort = moved(ROBOT, T, seed=2, **FRICTION)
    read = q.copy()
    read[:, 1:] = coarse * np.round(q[:, 1:] / coarse)
    found = identify(ROBOT, prepare(recording(T, read, effort), ROBOT, SignalSettings(average=False)).samples)
    assert np.nanmax(found.cross_validation.relative) < 10.0 * coarse
    np.testing.assert_allclose(found.coulomb, FRICTION["coulomb"], rtol=20.0 * coarse)
    np.testing.assert_allclose(found.viscous, FRICTION["viscous"], rtol=20.0 * coarse)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("urdf", [0.0, 0.5])
def test_friction_that_is_not_there_is_not_claimed(noise, urdf):
    """Whether the URDF has some or none; that of a joint is found, and what noise hides is kept if the URDF has it."""
    rng = np.random.default_rng(3)
    editor = UrdfEditor(ROBOT.urdf)
    for joint in ("elevator", "wrist"):
        editor.set_dynamics(joint, "damping", urdf)
    editor.set_dynamics("wrist", "friction", 0.003)  # of 9 N·m
    robot = rd.load_robot(editor.text())
    (q, _, _), effort = moved(ROBOT, T, seed=4, viscous=[0.1, 2.0, 0.0], coulomb=[0.0, 0.0, 0.002])
    made = effort + noise * rms(effort) * rng.normal(size=effort.shape)
    found = identify(robot, prepare(recording(T, q, made), robot).samples)
    claimed = {one.name for one in found.parameters if one.identified and one.name.startswith(("viscous", "coulomb"))}
    assert claimed - {"coulomb(wrist)"} == {"viscous(shoulder)"}
    np.testing.assert_array_equal(found.coulomb > 0.0, [False, False, True])
    np.testing.assert_array_equal(found.viscous[[0, 2]], 0.0)
    assert found.viscous[1] == pytest.approx(2.0, rel=0.03)
