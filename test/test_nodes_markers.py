# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The markers node beside a simulator and a controller."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import yaml
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

import robodyn_ros as rd
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.marker_messages import ghost, to_marker, tool_path
from robodyn_ros.nodes.markers import GHOST, TARGET, TOOL, MarkersNode
from robodyn_ros.view import LAYERS
from robodyn_ros.view.marks import TOOL_LAYERS, Arrow, Ball, Line, moving_shapes

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"


def test_markers_show_the_arm_that_is_there(graph):
    node = graph.start("markers", robot_description=str(PRR))
    said = "waiting for joint states on the topic /joint_states, which no node publishes"
    graph.wait(lambda: said in node.output, "what it waits for")
    states = graph.talk(JointState, "joint_states")
    commands = graph.talk(JointState, "controller/joint_commands")
    errors = graph.talk(JointState, "controller/tracking_error")
    shown = graph.listen(MarkerArray, "markers/markers")
    names = ["wrist", "elevator", "shoulder"]  # joints go by name
    positions = [-0.4, 0.5, 0.6]

    def tell(height, time):
        state = JointState(name=names, position=[-0.4, height, 0.6], velocity=[0.0, 1.0, 0.0])
        state.header.stamp.sec = time
        states.publish(state)
        commands.publish(JointState(name=names, effort=[36.0, 0.0, -96.0]))
        errors.publish(JointState(name=names, position=[0.0, 0.1, 0.0], velocity=[0.0, 0.0, 0.0]))

    def latest(layer):
        tell(positions[1], 1)
        return [marker for marker in (shown[-1].markers if shown else []) if marker.ns == layer]

    graph.wait(lambda: latest("reference") and latest("effort"), "the ghost of the reference and efforts")
    markers = shown[-1].markers
    # Of no tool has anybody told.
    assert {marker.ns for marker in markers} == {*LAYERS, "reference"} - {"trace", "skeleton"}
    assert {marker.header.frame_id for marker in markers} == {"base"}
    assert {marker.header.stamp.sec for marker in markers} == {1}
    keys = [(marker.ns, marker.id) for marker in markers]
    assert len(keys) == len(set(keys))
    # The tool's frame, and where it was asked to be: seen from the hand, which is turned by shoulder and wrist.
    poses = {name: graph.talk(PoseStamped, f"controller/{name}_pose") for name in ("tool", "target")}

    def posed():
        for name, frame in (("tool", "base"), ("target", "hand")):
            pose = PoseStamped()
            pose.header.frame_id, pose.pose.position.x = frame, 0.2
            poses[name].publish(pose)
        return latest("tool") and latest("target")

    graph.wait(posed, "both frames")
    turn, hand = 0.6 - 0.4, np.array([0.5 * np.sin(0.6), 0.0, 0.5 + 0.5 * np.cos(0.6)])
    for layer, place, z in (
        ("tool", [0.2, 0.0, 0.0], [0.0, 0.0, 1.0]),
        ("target", hand + 0.2 * np.array([np.cos(turn), 0, -np.sin(turn)]), [np.sin(turn), 0, np.cos(turn)]),
    ):
        axes = latest(layer)
        assert [axis.type for axis in axes] == [Marker.ARROW] * 3
        start, end = ([p.x, p.y, p.z] for p in axes[2].points)
        assert_allclose(start, place, atol=1e-9)
        along = np.subtract(end, start)
        assert_allclose(along / np.linalg.norm(along), z, atol=1e-9)
    robot = rd.load_robot(PRR)
    q = np.array([0.5, 0.6, -0.4])
    arm, hand = (next(m for m in markers if m.ns == "com" and m.id == k) for k in (1, 2))
    elbow = np.array([0.5 * np.sin(q[1]), 0.0, q[0] + 0.5 * np.cos(q[1])])
    com_arm = np.array([0.25 * np.sin(q[1]), 0.0, q[0] + 0.25 * np.cos(q[1])])
    com_hand = elbow + 0.14 * np.array([np.sin(q[1] + q[2]), 0.0, np.cos(q[1] + q[2])])
    for marker, place in ((arm, com_arm), (hand, com_hand)):
        point = marker.pose.position
        assert_allclose([point.x, point.y, point.z], place, atol=1e-9)
    arcs = [marker for marker in markers if marker.ns == "effort" and marker.type == Marker.LINE_STRIP]
    assert len(arcs) == 2  # shoulder and wrist, both at their limit: red
    assert all(arc.color.r > 0.9 and arc.color.g < 0.2 for arc in arcs)
    ghosts = [marker for marker in markers if marker.ns == "reference"]
    assert all(ghost.color.a < 0.5 for ghost in ghosts)
    boxes = sorted(ghost.pose.position.z for ghost in ghosts if ghost.type == Marker.CUBE)
    assert boxes[0] == pytest.approx(0.6)  # the carriage, where its reference is
    assert robot.n == 3

    def gone():
        states.publish(JointState(name=names, position=positions, velocity=[0.0, 0.0, 0.0]))
        return [m for message in shown for m in message.markers if m.ns == "velocity" and m.action == Marker.DELETE]

    graph.wait(gone, "the end of the velocity's arrow once the arm stands")
    node.stop()


def test_the_marks_of_another_arm_are_removed():
    """Those that the next arm has not, as one with fewer links, stayed in RViz for ever."""
    node, picture = MarkersNode.__new__(MarkersNode), Mock()
    node._picture, node._publisher, node._description, node.get_logger = picture, Mock(), Mock(), Mock()
    node._description.robot.side_effect = InputError("robot", "is none")
    node._on_description()
    picture.watch.destroy.assert_called_once_with()
    (message,) = node._publisher.publish.call_args.args
    assert [marker.action for marker in message.markers] == [Marker.DELETEALL]


@pytest.mark.parametrize("name", ["arm.urdf", "arm.urdf.xacro"])
def test_the_mesh_of_a_ghost_is_looked_for_beside_the_urdf(tmp_path, name):
    """RViz gets the path of the file; it was one in the folder where the node was started."""
    if name.endswith(".xacro"):
        pytest.importorskip("xacro", reason="the extra xacro is not installed")
    file = tmp_path / "urdf" / name
    file.parent.mkdir()
    (pose, origin), turns = np.tile(np.eye(4), (2, 1, 1)), ([0.3, -0.5, 0.7], [0.4, 0.5, 0.6])
    for matrix, turn, place in zip((pose, origin), turns, ([1, 2, 3], [0.1, 0.2, 0.3]), strict=True):
        matrix[:3, :3], matrix[:3, 3] = Rotation.from_euler("xyz", turn).as_matrix(), place
    for mesh, said in (
        ("../meshes/link 1.stl", (tmp_path / "meshes" / "link 1.stl").as_uri()),
        ("/meshes/a.stl", "file:///meshes/a.stl"),
        ("package://my_arm/a.stl", "package://my_arm/a.stl"),
    ):
        placed = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
        visual = f'<visual>{placed}<geometry><mesh filename="{mesh}"/></geometry></visual>'
        file.write_text(PRR.read_text().replace('<link name="hand">', f'<link name="hand">{visual}'), encoding="utf-8")
        (shape,) = (shape for shape in moving_shapes(rd.load_robot(file)) if shape.kind == "mesh")
        marker = ghost(shape, pose, "base", Time())
        at, o = marker.pose.position, marker.pose.orientation
        assert_allclose([at.x, at.y, at.z], (pose @ origin)[:3, 3], rtol=1e-12)
        assert_allclose(Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix(), (pose @ origin)[:3, :3], atol=1e-12)
        assert marker.mesh_resource == said


def test_a_mark_has_its_size_in_rviz():
    """The diameters of an ellipsoid; those of an arrow's shaft and head, and the head's length; the width of a line."""
    zero, up, color = np.zeros(3), np.array([0.0, 0.0, 1.0]), (0.1, 0.2, 0.3, 0.4)
    for mark, scale in (
        (Ball("com", "a", zero, np.eye(3), np.array([0.1, 0.2, 0.3]), color), [0.2, 0.4, 0.6]),
        (Arrow("force", "a", zero, up, 0.01, color), [0.02, 0.04, 0.06]),
        (Arrow("force", "a", up, 0.9 * up, 0.05, color), [0.1, 0.2, 0.05]),  # too short for more than half of it
        (Line("path", "a", np.array([zero, up]), 0.006, color), [0.006, 0.0, 0.0]),
    ):
        found = to_marker(mark, "base", Time()).scale
        assert_allclose([found.x, found.y, found.z], scale)
    kinematics, ends = rd.Kinematics(rd.load_robot(PRR)), np.array([[0.5, 0.6, -0.4], [0.7, -0.2, 0.3]])
    path = tool_path(kinematics, "tool", Trajectory([0.0, 3.0], ends))
    assert_allclose(path[[0, -1]], kinematics.pose("tool", ends)[:, :3, 3], atol=1e-12)


DISPLAYED = {
    "rviz_default_plugins/MarkerArray": ("Topic", "visualization_msgs/msg/MarkerArray"),
    "rviz_default_plugins/RobotModel": ("Description Topic", "std_msgs/msg/String"),
}
"""Class of a display of RViz → the property that has its topic, and the type of the message."""

PROMISED = {"reliable": ("Reliable", "Volatile"), "latched": ("Reliable", "Transient Local")}
"""Quality of service in the tables of the documentation → reliability and durability that a display may ask for."""


def test_rviz_shows_what_the_nodes_publish():
    """Topics, types and quality of service against the tables, which other tests hold against the running nodes."""
    from node_tables import pages, rows

    config = yaml.safe_load((PRR.parents[1] / "rviz" / "robodyn.rviz").read_text(encoding="utf-8"))
    displays = {display["Name"]: display for display in config["Visualization Manager"]["Displays"]}
    shown = {}
    for name, display in displays.items():
        if display["Class"] not in DISPLAYED:
            continue
        place, kind = DISPLAYED[display["Class"]]
        topic = display[place]
        node, _, own = topic["Value"].rpartition("/")
        published = {row[1]: row[2:4] for row in rows(pages(node or "simulator"), 5) if row[0] == "pub"}
        told, quality = published[f"~/{own}" if node else own]
        assert told == kind, name
        assert (topic["Reliability Policy"], topic["Durability Policy"]) == PROMISED[quality], name
        shown[name] = topic["Value"]
    assert shown == {"RobotModel": "robot_description", "Markers": "markers/markers", "Plan": "planner/markers"}
    assert set(displays["Markers"]["Namespaces"]) == {*LAYERS, GHOST, TOOL, TARGET, *TOOL_LAYERS}
    assert all(displays["Markers"]["Namespaces"][layer] for layer in (GHOST, TOOL, TARGET, *TOOL_LAYERS))
    assert set(displays["Plan"]["Namespaces"]) == {"plan", "plan_ghost"}
