# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An unknown arm: simulated, controlled and recorded over DDS, read from files, identified, and controlled better."""

import json

import numpy as np
import pytest
from identification_scenario import RATE, START, Arm, truth
from recordings import rms

from robodyn_ros.cli.main import main
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.identification.excitation import excite
from robodyn_ros.identification.settings import ExcitationSettings

APPROACH = 1.0
"""Time to where the unseen motion begins [s]."""


def unseen(start):
    """From rest to rest, fast."""
    q = np.array([start, [0.9, 0.5, -0.5], [0.3, -0.3, 0.9], start])
    way = rest_to_rest(q, APPROACH + np.array([0.0, 1.1, 2.2, 3.3]))
    rest = np.zeros_like(q)
    return Trajectory(way.times, q, rest, rest)


@pytest.mark.timeout(300)
def test_an_unknown_arm_is_recorded_identified_and_controlled(graph, prr, tmp_path, capsys):
    true, start = truth(prr), list(START.values())
    motion = excite(
        true.robot, ExcitationSettings(period=6.0, periods=1, harmonics=4, velocity_ratio=0.4, tries=1), start=start
    )
    arm = Arm(graph, prr)
    arm.control(prr)
    arm.follow(motion.trajectory)
    used = arm.save(tmp_path / "used", 0.01)
    before = arm.follow(unseen(start), APPROACH)
    test = arm.save(tmp_path / "test.mcap", 0.01)
    arm.leave()

    urdf = tmp_path / "prr.urdf"
    urdf.write_text(prr)
    out = tmp_path / "arm.urdf"
    arguments = ["identify", urdf, used, "--validate", test, "--out", out]
    assert main([*map(str, arguments), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for joint in START:
        assert found["errors"]["validation"][joint]["relative"] < 0.02
        assert found["errors"]["validation_urdf"][joint]["relative"] > 0.05
    (recording,) = found["recordings"]
    # What is measured at a state was held since the state before: on the average, it is half a period old.
    assert recording["effort"] == "measured"
    assert recording["delay"] == pytest.approx(-0.5 / RATE, abs=5e-4)

    arm.control(out.read_text())
    after = arm.follow(unseen(start), APPROACH)
    print(f"\nRMS errors {rms(before)} by the URDF, {rms(after)} identified, {rms(before) / rms(after)} times less")
    assert (rms(after) < rms(before) / 5.0).all()
