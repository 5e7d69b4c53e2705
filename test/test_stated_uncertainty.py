# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What settings of the controller explain, and what of them `check` and `identify` propose."""

import json
from pathlib import Path

import numpy as np
import pytest
from recordings import ROBOT, moved, table

import robodyn_ros as rd
from robodyn_ros.cli.check.joints import uncertainty_findings
from robodyn_ros.cli.main import main
from robodyn_ros.control.faults.consistency import AFFORDED, afforded, explained_efforts, uncertainty_of
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.limits import Limits
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.identification.preparation import position_noise

PRR = "urdf/prr.urdf"


def test_what_is_explained_is_that_of_statics():
    """PRR, arms level: a payload and a push act with their levers, each body's mass with its own."""
    robot = rd.load_robot(PRR)
    dynamics, q = rd.create_dynamics("rnea", robot), np.array([0.3, np.pi / 2, 0.0])
    found = explained_efforts(dynamics, q, SafetySettings(unknown_payload=3.0, push_force=7.0, model_error=0.2))
    limit, g = robot.effort_limit, 9.81
    carried = dynamics.gravity(q)
    np.testing.assert_allclose(found["model_error"], 0.2 * np.abs(carried) / limit, rtol=1e-9)  # all pull one way
    loaded = rd.create_dynamics("rnea", robot, payload=Payload("tool", 3.0)).gravity(q) - carried
    lever = 0.1 * 3.0 * g * np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(found["unknown_payload"], (np.abs(loaded) + lever) / limit, rtol=1e-9)
    reach = np.abs(loaded) / (3.0 * g)  # of the tool from each joint
    np.testing.assert_allclose(found["push_force"], 7.0 * (reach + [0.0, 0.1, 0.1]) / limit, rtol=1e-9)
    np.testing.assert_array_equal(found["unknown_friction"], 0.1)
    free = rd.load_robot(Path(PRR).read_text().replace('effort="36"', 'effort="0"'))
    found = explained_efforts(rd.create_dynamics("rnea", free), q)
    assert [values[2] for values in found.values()] == [0.0] * 4  # the wrist has no limit
    assert (found["unknown_friction"] == [0.1, 0.1, 0.0]).all()


@pytest.mark.parametrize(("ratio", "friction"), [(0.2, [120.0, 19.2, np.inf]), (0.0, [0.0] * 3)])
def test_friction_is_a_part_of_the_effort_limit_and_none_is_none_without_a_limit(ratio, friction):
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    limits = Limits.of(dynamics.robot, [600.0, 96.0, np.inf])
    found = uncertainty_of(dynamics, limits, SafetySettings(unknown_friction=ratio))
    np.testing.assert_allclose(found["unknown_friction"] * np.ones(3), friction, rtol=1e-12)


def test_what_is_afforded_explains_so_much_and_no_more():
    robot = rd.load_robot(PRR)
    dynamics = rd.create_dynamics("rnea", robot)
    found = afforded(explained_efforts(dynamics, robot.home))
    assert list(found) == ["push_force"]  # 1 kg explains less
    for factor in (1.0, 1.7, 4.4, 60.0):
        explained = {name: factor * part for name, part in explained_efforts(dynamics, robot.home).items()}
        exact = SafetySettings().push_force * AFFORDED / explained["push_force"].max()
        digit, exponent = f"{exact:.9e}".split("e")
        assert afforded(explained)["push_force"] == float(f"{digit[0]}e{exponent}")
    again = explained_efforts(dynamics, robot.home, SafetySettings(**found))
    assert 0.5 * AFFORDED < again["push_force"].max() <= AFFORDED
    assert afforded(again) == {}


def test_check_notes_where_a_dead_drive_would_not_show(tmp_path, capsys):
    assert not list(uncertainty_findings(rd.create_dynamics("rnea", rd.load_robot(PRR))))
    weak = tmp_path / "weak.urdf"
    weak.write_text(Path(PRR).read_text().replace('effort="36"', 'effort="3"'))
    (note,) = uncertainty_findings(rd.create_dynamics("rnea", rd.load_robot(weak)))
    assert (note.severity, note.element) == ("note", "joint 'wrist'")
    main(["check", str(weak)])
    said = " ".join(capsys.readouterr().out.split())
    assert "note: joint 'wrist': the controller's stated uncertainty explains" in said
    assert "Set smaller values if they are true: unknown_payload:" in said
    assert "push_force:" in said


@pytest.mark.parametrize("sigma", [1e-5, 3e-4])
def test_the_noise_of_positions_is_measured_beside_their_motion(sigma):
    random, t = np.random.default_rng(3), np.arange(0.0, 8.0, 0.002)
    q = np.column_stack([np.sin(3 * t), 0.3 * np.cos(9 * t)])
    assert np.all(position_noise(t, q) < 2e-6)
    q += random.normal(0.0, [sigma, 2 * sigma], q.shape)
    np.testing.assert_allclose(position_noise(t, q), [sigma, 2 * sigma], rtol=0.06)
    come = np.arange(len(t)) % 5 > 0  # every fifth state is lost
    np.testing.assert_allclose(position_noise(t[come], q[come]), [sigma, 2 * sigma], rtol=0.1)


def test_the_resolution_of_an_encoder_counts_as_noise():
    t = np.arange(0.0, 5.0, 0.002)
    q = np.round(np.sin(0.2 * t) / 1e-3)[:, None] * 1e-3
    assert position_noise(t, q)[0] == pytest.approx(1e-3 / np.sqrt(12.0), rel=0.2)


def test_identify_proposes_what_the_recording_shows(tmp_path, capsys):
    t = np.arange(0.0, 6.0, 0.002)
    (q, _, _), effort = moved(ROBOT, t, seed=2, coulomb=[0.0, 0.0, 1.0])
    q[:, 1] += np.random.default_rng(3).normal(0.0, 4e-4, len(t))
    run = str(table(tmp_path / "run.csv", ROBOT.joint_names, t, position=q, effort=effort))
    main(["identify", PRR, run, "--json"])
    found = json.loads(capsys.readouterr().out)
    proposed = found["uncertainty"]
    assert proposed["position_noise"] == pytest.approx(4e-4, rel=0.05)
    errors, limit = found["errors"]["cross_validation"], rd.load_robot(PRR).effort_limit
    left = [3 * errors[name]["rms"] / most for name, most in zip(found["joints"], limit, strict=True)]
    assert proposed["unknown_friction"] == pytest.approx(max(left), rel=1e-6)
    assert 0.0 <= proposed["velocity_delay"] < 0.002
    main(["identify", PRR, run])
    assert "For the controller" in capsys.readouterr().out
