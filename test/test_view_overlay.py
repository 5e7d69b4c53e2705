"""The marks over the picture of an arm, and the shapes of the picture, against Pinocchio and closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from industrial import urdfs
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.view import LAYERS, Arrow, Ball, Line, Overlay
from robodyn_ros.view.overlay import FULL_ARC, VELOCITY_SPAN
from robodyn_ros.view.panel import History
from robodyn_ros.view.shapes import mesh_path, read_shapes

pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio (PyPI: pin) is the independent truth here")

URDF = Path(__file__).parents[1] / "urdf"
Q, QD = np.array([0.7, 0.6, -0.4]), np.array([0.3, -1.2, 2.0])


@pytest.fixture
def robot() -> rd.Robot:
    return rd.load_robot(URDF / "prr.urdf")


def named(marks, layer, name):
    return next(mark for mark in marks if (mark.layer, mark.name) == (layer, name))


def test_centres_of_mass_are_where_pinocchio_has_them(robot):
    truth = Pinocchio(robot, (0.0, 0.0, -9.81))
    whole = pinocchio.centerOfMass(truth.model, truth.data, truth.configuration(Q))
    marks = Overlay(robot).marks(Q, QD)
    assert_allclose(named(marks, "com", "all").center, whole, atol=1e-12)
    for k, body in enumerate(robot.bodies, start=1):
        place = truth.data.oMi[k].act(truth.data.com[k] * 0 + truth.model.inertias[k].lever)
        assert_allclose(named(marks, "com", body.name).center, place, atol=1e-12)


def test_an_ellipsoid_of_even_density_has_the_mass_and_inertia_of_its_body(robot):
    marks = Overlay(robot).marks(np.zeros(3), np.zeros(3))
    for body in robot.bodies:
        ball = named(marks, "inertia", body.name)
        squares = ball.radii**2
        moments = body.inertial.mass / 5.0 * (squares.sum() - squares)
        assert_allclose(ball.rotation @ np.diag(moments) @ ball.rotation.T, body.inertial.inertia, rtol=1e-6, atol=1e-7)
        assert np.linalg.det(ball.rotation) == pytest.approx(1.0)


def test_the_velocity_of_the_tip_is_its_way(robot):
    overlay, h = Overlay(robot), 1e-6
    before, after = (overlay._kinematics.pose("tool", Q + step * QD)[:3, 3] for step in (-h, h))
    arrow = named(overlay.marks(Q, QD), "velocity", "tool")
    assert_allclose((arrow.end - arrow.start) / VELOCITY_SPAN, (after - before) / (2 * h), rtol=1e-8)


def test_efforts_are_drawn_as_shares_of_the_limit(robot):
    overlay = Overlay(robot)
    marks = overlay.marks(Q, QD, np.array([300.0, -48.0, 36.0]))
    elevator = named(marks, "effort", "elevator")
    assert_allclose(elevator.end - elevator.start, [0.0, 0.0, 0.2 * overlay.size], atol=1e-12)  # half of 600 N, up
    for name, share in (("shoulder", -0.5), ("wrist", 1.0)):
        arc = named(marks, "effort", name)
        spokes = (
            arc.points
            - arc.points.mean(axis=0) * 0
            - overlay._kinematics.pose({"shoulder": "arm", "wrist": "hand"}[name], Q)[:3, 3]
        )
        angles = np.unwrap(np.arctan2(spokes[:, 0], spokes[:, 2]))  # about +y
        assert angles[-1] - angles[0] == pytest.approx(share * FULL_ARC)
    green, red = named(marks, "effort", "shoulder").color, named(marks, "effort", "wrist").color
    assert green[1] > 0.6
    assert red[0] > 0.9
    assert red[1] < 0.2


def test_nothing_is_drawn_of_what_is_not_there(robot):
    marks = Overlay(robot, gravity=(0.0, 0.0, 0.0)).marks(Q, np.zeros(3), np.zeros(3))
    assert not {"gravity", "velocity", "effort", "trace"} & {mark.layer for mark in marks}


def test_an_effort_without_a_limit_is_measured_by_the_greatest_so_far():
    free = (URDF / "prr.urdf").read_text().replace('effort="96"', 'effort="inf"').replace('effort="inf"', "")
    overlay = Overlay(rd.load_robot(free))
    overlay.marks(Q, QD, np.array([0.0, 40.0, 0.0]))
    arc = named(overlay.marks(Q, QD, np.array([0.0, 10.0, 0.0])), "effort", "shoulder")
    length = np.linalg.norm(np.diff(arc.points, axis=0), axis=1).sum()
    assert length == pytest.approx(0.25 * FULL_ARC * 0.2 * overlay.size, rel=1e-2)


def test_traces_grow_with_the_way_and_can_be_forgotten(robot):
    overlay = Overlay(robot)
    for height in np.linspace(0.0, 1.0, 50):
        marks = overlay.marks(np.array([height, 0.0, 0.0]), QD, reference=np.array([1.0 - height, 0.0, 0.0]))
    for name, rise in (("tip", 1.0), ("reference", -1.0)):
        line = named(marks, "trace", name)
        assert_allclose(line.points[-1] - line.points[0], [0.0, 0.0, rise], atol=1e-12)
    overlay.forget()
    assert not [mark for mark in overlay.marks(Q, QD, reference=Q) if mark.layer == "trace"]


def test_a_tip_that_is_not_there_is_an_error(robot):
    with pytest.raises(InputError, match="'gripper' is not in the robot; it has base"):
        Overlay(robot, tip="gripper")


@pytest.mark.parametrize("name", ["r", "pr", "rr", "prr"])
def test_every_mechanism_has_every_layer(name):
    robot = rd.load_robot(URDF / f"{name}.urdf")
    overlay, some = Overlay(robot), np.full(robot.n, 0.3)
    overlay.marks(0.0 * some, some)
    marks = overlay.marks(some, some, some, some)
    assert {mark.layer for mark in marks} == set(LAYERS)
    assert {type(mark) for mark in marks} == {Ball, Arrow, Line}
    names = [(mark.layer, mark.name) for mark in marks]
    assert len(names) == len(set(names))


def test_the_shapes_of_the_prr_arm(robot):
    shapes = read_shapes(robot)
    assert [shape.link for shape in shapes].count("hand") == 3
    beam = next(shape for shape in shapes if shape.link == "arm")
    assert (beam.kind, beam.size, beam.mesh) == ("box", (0.05, 0.04, 0.5), "")
    assert beam.color == (0.95, 0.55, 0.13, 1.0)  # of the material that is named elsewhere
    assert_allclose(beam.pose.translation, [0.0, 0.0, 0.25])


@pytest.mark.skipif(not urdfs(), reason="example-robot-data is not installed")
def test_public_robots_have_shapes_that_can_be_read():
    read = 0
    for path in urdfs().values():
        try:
            robot = rd.load_robot(path)
        except RobotDescriptionError:
            continue
        shapes = read_shapes(robot)
        names = {link.name for link in robot.links}
        assert all(shape.link in names and len(shape.color) == 4 for shape in shapes)
        read += any(shape.kind == "mesh" for shape in shapes)
    assert read > 30


@pytest.mark.parametrize(
    ("visual", "said"),
    [
        ("<visual><geometry/></visual>", "link 'x': <visual>"),
        ("<visual><geometry><box size='1 2'/></geometry></visual>", "link 'x': <visual>"),
        (
            "<visual><geometry><box size='1 2 3'/></geometry>"
            "<material name='m'><color rgba='1 0'/></material></visual>",
            "link 'x': <visual>",
        ),
    ],
)
def test_a_visual_that_cannot_be_read_names_its_link(visual, said):
    arm = (
        f"<robot name='r'><link name='b'/><link name='x'>{visual}<inertial><mass value='1'/></inertial></link>"
        "<joint name='j' type='prismatic'><parent link='b'/><child link='x'/></joint></robot>"
    )
    with pytest.raises(RobotDescriptionError, match=said):
        read_shapes(rd.load_robot(arm))


def test_a_mesh_is_found_or_the_error_says_where_it_was_looked_for(tmp_path, monkeypatch):
    mesh = tmp_path / "my_arm" / "meshes" / "link 1.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path}")
    assert mesh_path("package://my_arm/meshes/link%201.stl") == mesh
    assert mesh_path(mesh.as_uri()) == mesh_path(str(mesh)) == mesh
    with pytest.raises(RobotDescriptionError, match=r"package 'other' is not found; add .* ROS_PACKAGE_PATH"):
        mesh_path("package://other/a.stl")
    with pytest.raises(RobotDescriptionError, match="there is no file"):
        mesh_path("package://my_arm/a.stl")


def test_a_history_keeps_its_span_and_begins_anew_when_time_runs_back():
    history = History(1.0, 2)
    for k in range(30):
        history.add(0.1 * k, {"a": np.array([k, -k]), "b": None if k < 25 else np.array([1.0, 2.0])})
    time, a, b = history.columns(("a", "b"), 1)
    assert_allclose(time, np.linspace(-1.0, 0.0, 11)[-len(time) :], atol=1e-9)
    assert_allclose(a, -np.arange(30 - len(a), 30))
    assert np.isnan(b[:-5]).all()
    assert_allclose(b[-5:], 2.0)
    history.add(0.0, {"a": np.zeros(2)})
    assert [len(column) for column in history.columns(("a",), 0)] == [1, 1]
