# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A real arm: recordings of a double pendulum, published by others with what they identified from them (test/data)."""

import json
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros.cli.main import main

DATA = Path(__file__).parent / "data" / "double_pendulum"

MOMENT, INERTIA, ROTOR = 0.62557 * 0.25569, 0.05087, 6.0**2 * 6.2872e-5
"""Of the lower link, and of the rotor beyond its gear: m2 r2 [kg m], I2 about the elbow, and gr² Ir [kg m²].

From ``data/system_identification/identified_parameters/design_C.1/model_1.0`` there, by fitting simulated trajectories,
a wholly different way. What they took to be known, and another day's friction, is in the differences.
"""


@pytest.mark.parametrize(("effort", "delay"), [("measured", 2.7e-3), ("commanded", 9.9e-3)])
def test_a_real_arm(effort, delay, capsys):
    arguments = ["identify", DATA / "arm.urdf", DATA / "swing_up.csv", "--validate", DATA / "unseen.csv"]
    assert main([*map(str, arguments), "--json", "--armature", "--effort", effort]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rank"] == 11
    # Commands take 7 ms more than measurements: over the bus, to the drive and back.
    assert found["recordings"][0]["delay"] == pytest.approx(delay, abs=1.5e-3)
    values = {one["name"]: one["value"] for one in found["parameters"]}
    errors = {one["name"]: one["standard_error"] for one in found["parameters"]}
    assert -values["mz(lower)"] == pytest.approx(MOMENT, rel=0.08)
    assert values["Iyy(lower)"] == pytest.approx(INERTIA, rel=0.1)
    assert values["armature(elbow)"] == pytest.approx(ROTOR, abs=1.2e-3)
    assert abs(values["mx(lower)"]) < 4.0 * errors["mx(lower)"]  # the pendulum is symmetric
    for joint, least in (("shoulder", 2.2), ("elbow", 3.5)):
        before, now = (found["errors"][name][joint]["rms"] for name in ("validation_urdf", "validation"))
        assert now < before / least


def test_the_motions_are_those_of_a_pendulum_that_swings_over():
    rows = np.genfromtxt(DATA / "unseen.csv", delimiter=",", skip_header=1)
    assert np.ptp(rows[:, 1]) > np.pi and np.ptp(rows[:, 2]) > np.pi
