# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Figures of the laws of the tool that the documentation states, from benchmarks/tool.py, which has more of them."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros.control import SafetySettings
from robodyn_ros.control.laws.cartesian_impedance import CartesianImpedance, CartesianImpedanceSettings

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import tool
from tool import (
    ARMS,
    BEHIND,
    CASES,
    FORCE,
    SINGULAR,
    SPEEDS,
    STIFFNESS,
    TOOL_LAWS,
    WALL,
    WRONG,
    circle,
    collide,
    law_of,
    singular,
    slide,
    stream,
    swinging,
)


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws by themselves: no fault ends a motion."""
    safety = SafetySettings(plausibility=False, following_tolerance=0.0, overspeed=100.0)
    monkeypatch.setattr(tool, "SAFETY", safety)


ALL_ARMS = [pytest.param(arm, marks=[] if arm == "prr" else pytest.mark.thorough) for arm in ARMS]


@pytest.mark.parametrize("arm", ALL_ARMS)
def test_a_circle_is_tracked_as_by_joint_computed_torque(arm: str) -> None:
    rows = {row["law"]: row for row in circle((arm,))}
    joints = rows["computed_torque"]
    assert joints["matched"] < 2e-5
    assert 1e-3 < joints["wrong"] < 5e-3
    for key in ("matched", "wrong"):
        assert rows["operational_space"][key] == pytest.approx(joints[key], rel=0.1)
    assert rows["cartesian_impedance"]["matched"] < 5e-5
    assert joints["wrong"] < rows["cartesian_impedance"]["wrong"] < 0.02


@pytest.mark.parametrize("law", TOOL_LAWS)
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("arm", ALL_ARMS)
def test_half_a_second_after_a_wall_is_met_nothing_bounces(arm: str, speed: float, law: str) -> None:
    found = collide(arm, law, speed)
    assert found["speed"] == pytest.approx(speed, rel=0.05)
    assert found["peak"] > found["free_peak"]  # the law pushes on
    assert found["bounce"] < 1.0
    if law == "cartesian_impedance":  # two springs, one behind the other
        both = 1.0 / (1.0 / STIFFNESS[0] + 1.0 / WALL)
        assert found["last"] == pytest.approx(BEHIND * both, rel=0.01)


@pytest.mark.parametrize("arm", ALL_ARMS)
def test_a_force_is_held_while_the_tool_slides(arm: str) -> None:
    found = slide(arm, 0.0)
    assert found["off"] < 0.05
    assert FORCE < found["peak"] < 5.0 * FORCE
    for rough in (0.2, 0.5):
        assert slide(arm, rough)["off"] < 0.01 * FORCE


@pytest.mark.parametrize("pose", [pytest.param(p, marks=[] if "PRR" in p else pytest.mark.thorough) for p in CASES])
def test_damping_lets_no_effort_jump_in_a_singular_pose(pose: str) -> None:
    rows = {(row["law"], row["damping"]): row for row in singular((pose,))}
    reference = rows["computed_torque", ""]
    for law in TOOL_LAWS:
        damped, undamped = rows[law, "on"], rows[law, "off"]
        for phase in ("right", "wrong", "hold"):
            assert damped[f"{phase}_step"] < 0.05
        assert damped["right_speed"] < 1.1 * reference["right_speed"]
        assert damped["hold_speed"] < 0.05
        assert damped["wrong_speed"] <= undamped["wrong_speed"] + 1e-6
    assert rows["cartesian_impedance", "on"]["wrong_speed"] < 0.85
    assert rows["operational_space", "on"]["wrong_speed"] < 1.3 * reference["wrong_speed"]
    assert max(rows[law, "off"]["wrong_step"] for law in TOOL_LAWS) > 4.0 * max(
        rows[law, "on"]["wrong_step"] for law in TOOL_LAWS
    )


def test_a_wider_singular_region_keeps_joints_from_fleeing() -> None:
    """The UR5 with its wrist aligned, and 10 % wrong masses: the posture holds what the tool's spring lets go."""
    fastest = []
    for region in (0.1, 0.3):
        bench = swinging(
            "UR5 wrist aligned", partial(law_of, "cartesian_impedance", "tool0", singular_region=region), WRONG
        )
        fastest.append((np.abs(bench.run(2.0).qd) / bench.robot.velocity_limit).max())
    assert 0.45 < fastest[0] < 0.55  # joints that have strayed are brought back
    assert fastest[1] < 0.45  # that is the reference


@pytest.mark.parametrize("wrong", [-WRONG, WRONG])
@pytest.mark.parametrize("pose", [pose for pose in CASES if "outstretched" in pose])
def test_through_an_outstretched_elbow_with_wrong_masses_the_arm_ends_on_the_side_it_is_told(
    pose: str, wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Default stiffness, all checks of the loop on: the elbow swings through and back, and K alone does not hold it."""
    monkeypatch.setattr(tool, "SAFETY", SafetySettings())
    config = CartesianImpedanceSettings(link=SINGULAR[pose][-1])
    bench = swinging(pose, lambda model: CartesianImpedance(model, 400.0, 40.0, config=config), wrong)
    last = bench.run(6.0)
    assert not bench.fault
    assert np.abs(last.q[-1] - last.q[0]).max() < 0.2
    assert np.abs(last.qd[-1]).max() < 0.02


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_light_wrist_does_not_bounce_at_a_wall(speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Panda without rotors, with all checks on: the limit of unexplained efforts leaves its wrist what it needs."""
    monkeypatch.setattr(tool, "SAFETY", SafetySettings())
    found = collide("panda", "cartesian_impedance", speed)
    assert found["last"] == pytest.approx(BEHIND / (1.0 / STIFFNESS[0] + 1.0 / WALL), rel=0.03)
    assert found["bounce"] < 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("arm", ARMS)
def test_a_stream_with_losses_and_jitter_costs_its_delay_and_little_more(arm: str) -> None:
    (row,) = stream((arm,), ("operational_space",))
    assert 0.5e-3 < row["rms"] < 3e-3
    assert row["rms_but_late"] < 1.5e-3
    assert row["step"] < 1.1 * row["clean_step"] < 0.05
