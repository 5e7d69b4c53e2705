# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The marks over the picture of an arm, and the shapes of the picture, against Pinocchio and closed forms."""

import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock
from urllib.parse import parse_qs, urlsplit

import arms
import numpy as np
import pinocchio
import pytest
from arms import random_robot
from browser import page
from free_port import free_port
from industrial import urdfs
from numpy.testing import assert_allclose
from PIL import Image
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.robot.pose import Pose
from robodyn_ros.view import Overlay
from robodyn_ros.view.browser import GHOST, NARROW, PANEL, SHEET, Browser, on_white, page_head
from robodyn_ros.view.drawing import ArmDrawing
from robodyn_ros.view.marks import Meshes, Shape, mesh_path, read_mesh, read_shapes
from robodyn_ros.view.overlay import FULL_ARC
from robodyn_ros.view.panel import PLOTS, History, Panel, Requests, plot_range

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


def test_an_ellipsoid_of_even_density_has_the_mass_and_inertia_of_its_body():
    """It is turned, and not mirrored."""
    arm = rd.load_robot(random_robot(0))
    marks, kinematics = Overlay(arm).marks(np.zeros(arm.n), np.zeros(arm.n)), rd.Kinematics(arm)
    for body in arm.bodies:
        ball = named(marks, "inertia", body.name)
        squares = ball.radii**2
        moments = body.inertial.mass / 5.0 * (squares.sum() - squares)
        turn = kinematics.pose(body.name, np.zeros(arm.n))[:3, :3].T @ ball.rotation
        assert_allclose(turn @ np.diag(moments) @ turn.T, body.inertial.inertia, rtol=1e-6, atol=1e-7)
        assert np.linalg.det(ball.rotation) == pytest.approx(1.0)


def test_nothing_is_drawn_of_what_is_not_there(robot):
    marks = Overlay(robot).marks(Q, np.zeros(3), np.zeros(3))
    assert not {"velocity", "effort", "trace"} & {mark.layer for mark in marks}
    follows = rd.load_robot(random_robot(1, mimic=0.5))
    efforts = Overlay(follows).marks(*np.zeros((2, follows.n)), np.ones(follows.n))
    drawn = {mark.name.removesuffix(".head") for mark in efforts if mark.layer == "effort"}
    assert drawn == set(follows.joint_names)


def test_an_effort_without_a_limit_is_measured_by_the_greatest_so_far():
    free = (URDF / "prr.urdf").read_text().replace('effort="96"', 'effort="inf"').replace('effort="inf"', "")
    overlay = Overlay(rd.load_robot(free))
    overlay.marks(Q, QD, np.array([0.0, 40.0, 0.0]))
    arc = named(overlay.marks(Q, QD, np.array([0.0, 10.0, 0.0])), "effort", "shoulder")
    length = np.linalg.norm(np.diff(arc.points, axis=0), axis=1).sum()
    assert length == pytest.approx(0.25 * FULL_ARC * 0.2 * overlay.size, rel=1e-2)
    assert np.cross(*np.diff(arc.points, axis=0)[:2])[1] > 0.0  # turned about the axis, y


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


def test_the_shapes_of_the_prr_arm(robot):
    shapes = read_shapes(robot)
    assert [shape.link for shape in shapes].count("hand") == 3
    beam = next(shape for shape in shapes if shape.link == "arm")
    assert (beam.kind, beam.size, beam.mesh) == ("box", (0.05, 0.04, 0.5), "")
    assert beam.color == (0.95, 0.55, 0.13, 1.0)  # of the material that is named elsewhere
    assert_allclose(beam.pose.translation, [0.0, 0.0, 0.25])
    bare = re.sub(r'<material name="\w+"/>', "", (URDF / "prr.urdf").read_text())
    assert {(shape.color, shape.painted) for shape in read_shapes(rd.load_robot(bare))} == {
        ((0.6, 0.6, 0.62, 1.0), False)
    }


def test_a_capsule_is_drawn_as_a_cylinder_with_two_round_ends():
    origin = '<origin xyz="0.1 0.2 0.3" rpy="1.5707963267948966 0 0"/>'
    capsule = f'<visual>{origin}<geometry><capsule radius="0.04" length="0.5"/></geometry></visual>'
    arm = re.sub(r"<visual\b.*?</visual>", capsule, (URDF / "prr.urdf").read_text(), count=1, flags=re.DOTALL)
    middle, *ends = read_shapes(rd.load_robot(arm))[:3]
    assert (middle.kind, middle.size, [end.kind for end in ends]) == ("cylinder", (0.04, 0.5), ["sphere"] * 2)
    assert [end.size for end in ends] == [(0.04,), (0.04,)]
    assert_allclose([end.pose.translation for end in ends], [[0.1, 0.45, 0.3], [0.1, -0.05, 0.3]], atol=1e-15)


@pytest.mark.skipif(not urdfs(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("each", [8, pytest.param(1, marks=pytest.mark.thorough)])
def test_public_robots_have_shapes_that_can_be_read(each):
    read, paths = 0, list(urdfs().values())[::each]
    for path in paths:
        try:
            robot = rd.load_robot(path)
        except RobotDescriptionError:
            continue
        shapes = read_shapes(robot)
        names = {link.name for link in robot.links}
        assert all(shape.link in names and len(shape.color) == 4 for shape in shapes)
        read += any(shape.kind == "mesh" for shape in shapes)
    assert read > 0.3 * len(paths)


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
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    urdf = tmp_path / "my_arm" / "urdf" / "arm.urdf"
    assert mesh_path("package://my_arm/meshes/link%201.stl", str(urdf)) == mesh  # beside the URDF
    assert mesh_path("../meshes/link 1.stl", str(urdf)).samefile(mesh)
    (tmp_path / "my_arm" / "package.xml").write_text("<package><name>her_arm</name></package>", encoding="utf-8")
    assert mesh_path("package://her_arm/meshes/link%201.stl", str(urdf)) == mesh
    assert mesh_path("package://my_arm/meshes/link%201.stl", str(urdf)) == mesh  # nobody else has that name
    assert mesh_path(mesh.as_uri()) == mesh_path(str(mesh)) == mesh
    with pytest.raises(RobotDescriptionError, match=r"package 'other' is not found: .* ROS_PACKAGE_PATH"):
        mesh_path("package://other/a.stl")
    with pytest.raises(RobotDescriptionError, match="there is no such file in"):
        mesh_path("package://my_arm/a.stl", str(urdf))
    with pytest.raises(RobotDescriptionError, match="http:// is no file of this machine"):
        mesh_path("http://example.org/a.stl")


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_effects>{effects}</library_effects><library_materials>{materials}</library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="18">0 0 0 100 0 0 0 200 0 0 0 0 0 0 300 100 0 0</float_array>
<technique_common><accessor source="#pa" count="6" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="m0"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
<triangles count="1" material="m1"><input semantic="VERTEX" source="#v" offset="0"/><p>3 4 5</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="m0" target="#mat0"/><instance_material symbol="m1" target="#mat1"/>
</technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_a_collada_mesh_has_its_colours_and_its_unit(tmp_path, monkeypatch):
    effects = "".join(
        f'<effect id="e{k}"><profile_COMMON><technique sid="common"><lambert><diffuse><color>{color}</color>'
        "</diffuse></lambert></technique></profile_COMMON></effect>"
        for k, color in enumerate(("1 0 0 0.2", "0 0 1 0"))
    )
    materials = "".join(f'<material id="mat{k}"><instance_effect url="#e{k}"/></material>' for k in range(2))
    (tmp_path / "a.dae").write_text(DAE.format(effects=effects, materials=materials), encoding="utf-8")
    red, blue = sorted(read_mesh(tmp_path / "a.dae"), key=lambda part: part.color, reverse=True)
    assert (red.color, blue.color) == ((1.0, 0.0, 0.0, 0.2), (0.0, 0.0, 1.0, 1.0))
    assert_allclose(np.ptp(red.vertices, axis=0), [0.1, 0.2, 0.0], atol=1e-12)  # millimetres
    assert_allclose(np.ptp(blue.vertices, axis=0), [0.1, 0.0, 0.3], atol=1e-12)
    monkeypatch.setattr("robodyn_ros.view.marks.find_spec", lambda name: None)
    with pytest.raises(RobotDescriptionError, match="pip install pycollada"):
        read_mesh(tmp_path / "a.dae")


def test_meshes_that_are_not_drawn_are_said_once_for_each_reason(tmp_path):
    (tmp_path / "broken.obj").write_text("nothing", encoding="utf-8")
    near = str(tmp_path / "arm.urdf")
    names = ("package://nowhere/a.stl", "package://nowhere/b.stl", "c.stl", "broken.obj")
    meshes = Meshes(near)
    for name in (*names, *names):
        assert meshes.parts(name) == ()
    lost, gone, broken = meshes.missing
    assert lost.startswith("2 meshes are not drawn (a.stl, …): package 'nowhere' is not found")
    assert gone == f"the mesh c.stl is not drawn: there is no such file in {tmp_path}"
    assert broken.startswith("the mesh broken.obj is not drawn: ")


@pytest.mark.parametrize("scale", [0.05, 30.0])
def test_the_marks_are_as_large_as_the_arm(scale):
    text = (URDF / "rr.urdf").read_text(encoding="utf-8")
    for old in set(re.findall(r'xyz="([^"]*)"', text)):
        if old not in ("0 1 0", "0 -1 0", "1 0 0", "0 0 1"):
            text = text.replace(f'xyz="{old}"', f'xyz="{" ".join(str(scale * float(x)) for x in old.split())}"')
    usual, scaled = Overlay(rd.load_robot(URDF / "rr.urdf")), Overlay(rd.load_robot(text))
    assert scaled.size == pytest.approx(scale * usual.size)
    sticks = [mark for mark in scaled.marks(np.zeros(2), np.zeros(2)) if mark.layer == "skeleton"]
    places = np.concatenate([mark.points for mark in sticks if not mark.name.endswith(".joint")])
    assert np.ptp(places, axis=0).max() == pytest.approx(scaled.size, rel=0.5)


def test_the_camera_sees_the_whole_arm_beside_the_panel():
    """In windows of all shapes; the page places its camera by itself, in the pixels of its style."""
    rng = np.random.default_rng(3)
    with page(1280, 800) as shown:
        for scale, width, height in ((0.05, 1280, 800), (30.0, 800, 600), (0.05, 390, 844), (30.0, 2500, 700)):
            points = scale * rng.uniform((-1, -0.3, 0), (0.4, 1, 2.5), (300, 3))
            content = f"<!doctype html><head>{page_head(points, scale)}</head>"
            shown.unroute_all()
            shown.route("**/*", lambda route, _, content=content: route.fulfill(body=content, content_type="text/html"))
            shown.set_viewport_size({"width": width, "height": height})
            shown.goto("http://localhost/?token=secret&initialCameraFov=9")
            address = parse_qs(urlsplit(shown.url).query)
            assert address.pop("token") == ["secret"]
            found = {name: np.array([float(x) for x in text.split(",")]) for name, (text,) in address.items()}
            eye, middle, fov = (found[f"initialCamera{name}"] for name in ("Position", "LookAt", "Fov"))
            ahead = (middle - eye) / np.linalg.norm(middle - eye)
            right = np.cross(ahead, [0, 0, 1]) / np.linalg.norm(np.cross(ahead, [0, 0, 1]))
            up = np.cross(right, ahead)
            assert abs(ahead @ (middle - (points.min(axis=0) + points.max(axis=0)) / 2)) < 1e-3 * scale
            seen = points - eye
            depth = seen @ ahead
            assert (depth > found["initialCameraNear"]).all()
            x = width / 2 + seen @ right / depth * height / 2 / np.tan(fov / 2)
            y = height / 2 - seen @ up / depth * height / 2 / np.tan(fov / 2)
            narrow = width < NARROW
            assert x.min() > 0 and x.max() < (width if narrow else width - PANEL)
            assert y.min() > 0 and y.max() < (height * (1 - SHEET) if narrow else height)
            assert np.ptp(x) > 0.3 * width or np.ptp(y) > 0.25 * height  # and it is no dot


def test_the_corners_of_what_is_drawn_are_those_of_its_boxes():
    """The mast of the PRR arm, which belongs to its base, reaches higher than any joint."""
    robot = rd.load_robot(URDF / "prr.urdf")
    shapes = read_shapes(robot)
    tops = [shape.corners(Meshes())[:, 2].max() for shape in shapes if shape.link == robot.root]
    mast = max(shape.pose.translation[2] + shape.size[2] / 2 for shape in shapes if shape.link == robot.root)
    assert max(tops) == pytest.approx(mast)
    assert mast > Overlay(robot).places(robot.home)[:, 2].max()
    turned = Shape("l", Pose.from_xyz_rpy((1, 2, 3), (0, 0, np.pi / 2)), "cylinder", (0.1, 0.6), "", (1, 1, 1, 1))
    corners = turned.corners(Meshes())
    assert_allclose(np.ptp(corners, axis=0), [0.2, 0.2, 0.6])
    assert_allclose(corners.mean(axis=0), [1, 2, 3])


def test_a_ghost_has_only_the_links_that_are_elsewhere(robot):
    """Both of a link in one place would flicker."""
    scene = Mock()
    scene.add_frame.side_effect = lambda *_, **__: SimpleNamespace(visible=True)
    arm, ghost = (ArmDrawing(scene, robot, name, Meshes(), color) for name, color in (("/a", None), ("/g", GHOST)))
    arm.move(Q)
    ghost.move(Q + [0.0, 0.0, 0.3], arm)
    assert {link for link, frame in ghost._frames.items() if frame.visible} == {"hand", "tool"}
    ghost.move(Q + [0.1, 0.0, 0.0], arm)
    assert all(frame.visible for frame in ghost._frames.values())


def test_a_saved_picture_is_on_white_and_holds_what_is_drawn():
    image = np.zeros((6, 5, 4), np.uint8)
    image[1:3, 2:4] = (200, 100, 0, 255)
    image[2, 3, 3] = 51
    assert on_white(image).tolist() == [[[200, 100, 0], [200, 100, 0]], [[200, 100, 0], [244, 224, 204]]]
    assert (on_white(np.zeros((2, 2, 4), np.uint8)) == 255).all()


def test_a_picture_is_saved_in_the_shape_of_the_window_under_the_name_of_the_arm():
    browser, client = Browser.__new__(Browser), Mock(**{"camera.aspect": 1.5})
    browser.overlay = Mock(**{"robot.name": "my arm/2"})
    client.get_render.return_value = np.full((2, 3, 4), 255, np.uint8)
    browser.send_picture(Mock(client=None))  # a window that is gone
    browser.send_picture(Mock(client=client))
    client.get_render.assert_called_once_with(height=1080, width=1620, transport_format="png")
    name, content = client.send_file_download.call_args.args
    assert name == "my_arm_2.png" and client.send_file_download.call_args.kwargs == {"save_immediately": True}
    assert np.asarray(Image.open(BytesIO(content))).shape == (2, 3, 3)


def test_a_plot_is_not_filled_by_noise():
    assert plot_range([np.full(9, 0.3)], 0.1) == pytest.approx((0.25, 0.35))
    low, high = plot_range([np.array([0.0, 4.0]), np.array([np.nan, 1.0])], 0.1)
    assert low < 0.0 < 4.0 < high < 4.5
    assert plot_range([np.array([np.nan])], 0.2) == pytest.approx((-0.1, 0.1))
    low, _ = plot_range([np.array([0.1, 5.0])], 0.1)
    assert low <= 0.0  # zero is near


def plotted(robot, joint, **values):
    """What the panel draws of a joint, all of whose values stay."""
    gui, plots = MagicMock(), [SimpleNamespace() for _ in PLOTS]
    gui.add_dropdown.return_value.value = joint
    gui.add_uplot.side_effect = plots
    panel = Panel(gui, robot, Requests(*[None] * 6), {}, simulated=False)
    history = History(10.0, robot.n)
    for time in (0.0, 1.0):
        history.add(time, {name: np.full(robot.n, value) for name, value in values.items()})
    panel.plot(history)
    return plots


@pytest.mark.parametrize(("joint", "unit"), [("wrist", "mrad"), ("elevator", "mm")])
def test_errors_are_plotted_in_thousandths(robot, joint, unit):
    """uPlot cuts what is longer than five characters: of -0.015 it shows 0.015."""
    positions, errors, efforts = plotted(robot, joint, error=-0.0105, position=0.2)
    assert errors.title == f"error [{unit}]"
    assert_allclose(errors.data[1], -10.5)
    low, high = errors.scales["y"]["range"]
    assert low < -10.5 < high and high - low == pytest.approx(2.0)
    assert_allclose(positions.data[1], 0.2)
    assert efforts.title == f"effort by term [{'N' if joint == 'elevator' else 'N·m'}]"


@pytest.mark.parametrize(("limit", "least"), [((-1, 1, 3, 40), 40.0), (None, 1.0)])
def test_efforts_are_plotted_as_a_share_of_the_limit_if_there_is_one(limit, least):
    turn = arms.joint("turn", "revolute" if limit else "continuous", "base", "arm", axis=(0, 1, 0), limit=limit)
    robot = rd.load_robot(arms.robot("one", arms.link("base"), arms.link("arm", 1.0, (0, 0, 0.1)), turn))
    *_, efforts = plotted(robot, "turn", position=0.2)
    assert np.ptp(efforts.scales["y"]["range"]) == pytest.approx(0.02 * least)


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


@pytest.mark.parametrize("bare", ["", "carriage", "arm"])
def test_a_skeleton_stands_in_for_a_body_that_is_not_drawn_and_for_no_other(bare):
    """An arm that is drawn with all its moving bodies, its fixed base too or not, needs none."""
    from robodyn_ros.view.browser import Browser

    text = (Path(__file__).parents[1] / "urdf" / "prr.urdf").read_text(encoding="utf-8")
    if bare:
        link = re.search(rf'<link name="{bare}">.*?</link>', text, re.DOTALL)
        text = text.replace(link[0], re.sub(r"<visual.*</visual>", "", link[0], flags=re.DOTALL))
    browser = Browser(rd.load_robot(text), "127.0.0.1", free_port())
    try:
        assert browser.at_first == (frozenset({"skeleton"}) if bare else frozenset())
        ghosts = set()
        for away in (0.3, 0.0):  # a ghost stands where the arm should be, if that is elsewhere
            browser.show(Q + away, QD, None, Q + away, frozenset({"reference"}))
            there = {link: np.array(frame.position) for link, frame in browser._arm._frames.items()}
            browser.show(Q, QD, None, Q + away, frozenset({"reference"}))
            assert browser._ghost._top.visible == (away > 0.0)
            for link, frame in browser._ghost._frames.items() if away else ():
                assert_allclose(frame.position, there[link])
            ghosts.add(browser._ghost)
        assert len(ghosts) == 1  # made once, not in every picture
    finally:
        browser.stop()


def test_a_slider_moves_its_own_joint_and_no_other(robot, monkeypatch):
    """Though a goal of the tool or another node has moved the arm, or a joint has turned beyond its slider."""
    asked, gui, now, callbacks = [], MagicMock(), [100.0], []
    sliders = iter([SimpleNamespace(on_update=callbacks.append) for _ in range(3)])

    def slider(name, least, greatest, step, start):
        made = next(sliders)
        made.min, made.max, made.value = least, greatest, start
        return made

    gui.add_slider.side_effect = slider
    monkeypatch.setattr("robodyn_ros.view.panel.monotonic", lambda: now[0])
    requests = Requests(lambda q: asked.append(q.tolist()), *[None] * 5)
    panel = Panel(gui, robot, requests, {}, simulated=False, poses={"reach": np.array([0.2, 0.3, 0.1])})

    def rests_at(*q):
        for _ in range(30):
            now[0] += 0.04
            panel.follow(np.array(q), now[0])

    def move(index, value):
        panel._sliders[index].value = value
        callbacks[index](None)

    move(1, 0.5)
    assert not asked  # no state has come
    rests_at(0.123456789, 0.2, 0.3)
    move(1, 0.5)
    move(2, -0.5)  # before the arm is there
    assert asked == [[0.123456789, 0.5, 0.3], [0.123456789, 0.5, -0.5]]
    rests_at(0.6, 7.0, 0.4)  # elsewhere
    assert [slider.value for slider in panel._sliders] == [0.6, 2.0, 0.4]
    move(0, 0.8)
    assert asked[-1] == [0.8, 7.0, 0.4]
    chosen, (choose,) = gui.add_dropdown.return_value, gui.add_dropdown.return_value.on_update.call_args.args
    chosen.value, before = "reach", len(asked)
    for _ in range(2):  # the choice ends by itself
        choose(None)
    assert asked[before:] == [[0.2, 0.3, 0.1]]
    assert [slider.value for slider in panel._sliders] == [0.2, 0.3, 0.1]
