# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The face of the library: what stands in ``robodyn_ros`` itself."""

import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import joint, link
from arms import robot as robot_of

import robodyn_ros as rd


def test_everything_it_offers_is_there() -> None:
    for name in rd.__all__:
        assert callable(getattr(rd, name)), name
    assert dir(rd) == sorted(rd.__all__)


@pytest.mark.parametrize("room", ["control", "identification"])
def test_a_room_lists_what_it_offers(room: str) -> None:
    module = import_module(f"robodyn_ros.{room}")
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'create_arm'"):
        _ = rd.create_arm


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import robodyn_ros", {"rclpy", "scipy", "matplotlib", "rich", "numpy"}),
        ("import robodyn_ros as rd; rd.load_robot, rd.Dynamics", {"rclpy", "scipy", "matplotlib", "rich"}),
        ("import robodyn_ros.pytest_option", {"numpy", "pytest"}),
    ],
)
def test_it_imports_no_ros_and_nothing_slow(statement: str, unwanted: set[str]) -> None:
    """pytest loads the option of the conformance kit at every start, wherever the package is installed."""
    script = f"import sys; {statement}; print(sorted({unwanted} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


PRR = Path(__file__).parents[1] / "urdf/prr.urdf"


@pytest.fixture(scope="module")
def robot() -> rd.Robot:
    return rd.load_robot(PRR)


def test_objects_show_themselves_in_a_few_lines(robot: rd.Robot) -> None:
    friction = {"viscous": [1.5, 0.0, 0.25], "coulomb": [3.0, 2.0, 0.5]}
    dynamics = rd.create_dynamics("rnea", robot, payload=rd.Payload("hand", 1.25), **friction)
    law = rd.create_controller("pd", dynamics, [100.0, 50.0, 25.0], 20.0)
    for shown, least in (
        (robot, ["prr: 3 joints, 20 kg", "shoulder", "-2 rad", "12 rad/s", "96 N·m", "13 kg"]),
        (robot.joints[0], ["elevator: prismatic", "axis (0, 0, 1)", "2.1 m", "600 N"]),
        (dynamics, ["RNEA of prr", "(0, 0, -9.81)", "1.25 kg at hand", "1.5 N·s/m", "0.25 N·m·s/rad", "3 N"]),
        (law, ["PD on RNEA of prr", "100 N/m", "50 N·m/rad", "20 N·m·s/rad"]),
    ):
        text = repr(shown)
        assert len(text) < 800
        assert max(map(len, text.splitlines())) <= 80
        for part in least:
            assert part in text.replace("\n", " "), (part, text)
        page = shown._repr_html_()
        assert page.count("<table") == (0 if shown is robot.joints[0] else 1)


def test_names_from_a_urdf_stay_text(robot: rd.Robot) -> None:
    joint = replace(robot.joints[0], name="<script>alert(1)</script> $x^2$")
    page = replace(robot, name="a<b>&", joints=(joint, *robot.joints[1:]))._repr_html_()
    assert "<script>" not in page
    assert "a&lt;b&gt;&amp;" in page
    assert "$x^2$" in page  # and is no formula


def test_an_object_that_was_never_finished_has_a_repr_too() -> None:
    assert "RNEA object at" in repr(object.__new__(type(rd.create_dynamics("rnea", PRR))))


@pytest.mark.parametrize("name", ["inverse", "energy", "regressor"])
def test_help_tells_of_a_compiled_function(robot: rd.Robot, name: str) -> None:
    dynamics: Any = rd.create_dynamics("rnea", robot)
    said = pydoc.plain(pydoc.render_doc(getattr(dynamics, name)))
    assert f"{name}(q, qd" in said
    assert "positions, (n,) or (N, n), in [rad] or [m]" in said
    assert "InputError" in said


def test_the_path_of_a_urdf_serves_where_a_robot_does(robot: rd.Robot) -> None:
    q = np.array([0.3, -1.0, 0.5])
    wanted = rd.create_dynamics("rnea", robot).gravity(q)
    np.testing.assert_array_equal(rd.create_dynamics("rnea", PRR).gravity(q), wanted)
    np.testing.assert_allclose(rd.create_dynamics("lagrangian", str(PRR)).gravity(q), wanted, rtol=1e-12)
    np.testing.assert_array_equal(rd.Kinematics(str(PRR)).pose("hand", q), rd.Kinematics(robot).pose("hand", q))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda robot: rd.create_dynamics("rnea", 3), "load_robot"),
        (lambda robot: rd.create_dynamics("rnea", "nothing.urdf"), r"nothing\.urdf: cannot be read"),
        (lambda robot: rd.create_controller("pd", robot, 1.0, 1.0), "create_dynamics"),
        (lambda robot: rd.InverseKinematics(robot, "hand"), r"Kinematics\(robot\)"),
        (lambda robot: rd.simulate(robot, to={"elbow": 1.0}), "it has elevator, shoulder, wrist"),
        (lambda robot: rd.simulate(robot, parameters={"payload_mas": 1.0}), "payload_mas"),
        (lambda robot: rd.simulate(robot, to={"wrist": 1.0}, duration=0.01), "limits of the joints"),
        (lambda robot: rd.simulate(robot, duration="long"), "duration: must be real numbers, not 'long'"),
        (lambda robot: rd.simulate(robot, duration=0.0), "duration: must be above 0 s, and 1e6 s at most, not 0.0"),
        (lambda robot: rd.simulate(robot, parameters=["seed"]), "parameters: must be a dict .*, not list"),
        (lambda robot: rd.compare(robot, "pd"), "controllers: must be a list of names, not 'pd'"),
        (lambda robot: rd.plan(robot, [0.0, 1.0, 0.0], method="magic"), "time-scaling"),
        (lambda robot: rd.identify(robot, "run.csv", cutof=3.0), "cutof"),
    ],
)
def test_what_is_wrong_is_said_where_it_is_given(wrong: Callable[[Any], Any], said: str, robot: rd.Robot) -> None:
    with pytest.raises(rd.RobodynError, match=said):
        wrong(robot)


def test_one_call_simulates_and_plots(robot: rd.Robot) -> None:
    from matplotlib import pyplot

    result = rd.simulate(PRR, to={"shoulder": 0.5}, start=[0.4, -0.2, 0.3])
    np.testing.assert_allclose(result.q[0], [0.4, -0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(result.q[-1], [0.4, 0.5, 0.3], atol=5e-3)
    assert result.faults == {}
    assert "shoulder: greatest error" in repr(result)
    grid = result.plot()
    assert [axes.get_ylabel() for axes in grid[0]] == ["position [m]", "reference − position [mm]", "effort [N]"]
    assert [axes.get_xlabel() for axes in grid[-1]] == ["time [s]"] * 3
    pyplot.close(grid[0][0].figure)


def test_parameters_of_a_simulation_count_for_its_motion_and_its_title() -> None:
    """The law, the start and the limits in force."""
    given = {"controller": "gravity_compensation", "initial_position.elbow": -0.4}
    result = rd.simulate("rr", to={"elbow": 0.5}, parameters=given | {"velocity_limits.elbow": 0.5})
    assert result.controller == "gravity_compensation" and result.faults == {}
    reference = result.trial.commands.values["q"]
    np.testing.assert_allclose(reference[[0, -1], 1], [-0.4, 0.5], atol=1e-3)
    assert 0.35 < np.abs(result.trial.commands.values["qd"]).max() <= 0.41  # 80 % of the limit
    greatest = np.abs(rd.simulate("rr", to={"elbow": 0.5}).effort[:, 1]).max()
    result = rd.simulate("rr", to={"elbow": 0.5}, parameters={"effort_limits.elbow": 0.9 * greatest})
    assert np.abs(result.effort[:, 1]).max() < 0.8 * greatest


def test_a_fault_is_told_once_while_it_lasts() -> None:
    hinge = joint("hinge", "revolute", "base", "arm", (0, 1, 0), limit=(-2.5, 2.5, 0.3, 20.0))
    arm = rd.load_robot(
        robot_of("arm", link("base"), link("arm", 1.0, (0.3, 0, 0), (0.01, 0, 0, 0.01, 0, 0.01)), hinge)
    )
    result = rd.simulate(arm, controller="pd", parameters={"gains.hinge.natural_frequency": 2.0}, duration=1.0)
    assert len(result.faults) <= 10 < sum(result.faults.values()), result  # it sags
    assert re.search(r"speed: joint 'hinge' moves at \S+ rad/s; 0.33 rad/s is the limit", repr(result))


def test_one_call_compares_and_plots(tmp_path: Path) -> None:
    from matplotlib import pyplot

    result = rd.compare("r", ["pd", "computed_torque"])
    assert next(iter(result.scores())) == "computed_torque"
    assert "computed_torque follows best" in repr(result).replace("\n", " ")
    before = pyplot.get_fignums()
    result.plot(tmp_path / "laws.svg")
    assert pyplot.get_fignums() == before  # what goes to a file is on no screen
    assert b"<svg" in (tmp_path / "laws.svg").read_bytes()


def test_one_call_plans_and_plots(robot: rd.Robot) -> None:
    from matplotlib import pyplot

    result = rd.plan(robot, {"elevator": 0.3, "shoulder": -1.0}, method="time-scaling", payload=rd.Payload("hand", 0.5))
    assert result.plan.solved and result.problem.dynamics.parameters.payload.mass == 0.5
    np.testing.assert_allclose(result.plan.q[-1], [0.3, -1.0, 0.0], atol=1e-9)
    grid = result.plot()
    assert grid[1][1].get_ylabel() == "velocity [rad/s]"
    pyplot.close(grid[0][0].figure)
