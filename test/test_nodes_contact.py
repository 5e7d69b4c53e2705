# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What touches the arm, over real DDS: ``~/external_wrench``, ``~/external_efforts`` and ``~/tare``."""

from time import monotonic
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from numpy.testing import assert_allclose
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker

import robodyn_ros as rd
from robodyn_ros.control.contact import contact_of
from robodyn_ros.control.loop_settings import loop_default_values
from robodyn_ros.control.momentum_observer import ForceTorqueSensor
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.watch import ASKED, CONTROLLER, SIMULATOR, ToolWatch
from robodyn_ros.nodes.controller.contact import ContactTopics
from robodyn_ros.nodes.markers import Picture
from robodyn_ros.nodes.viewer.node import View

START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


def wrench_of(message):
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def push(force, frame="tool"):
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
    return message


@pytest.mark.parametrize("source", ["commanded", "measured", "sensor"])
def test_a_push_is_told(graph, prr, source):
    """By the loop in its thread, by the efforts of joint_states, and by a sensor; a simulated one ends by itself."""
    contact = {"contact.observe": "tool", "tool": "tool", "contact.effort_source": source}
    if source == "sensor":
        contact |= {"contact.sensor_load": [0.5, 0.1, 0.0, 0.0]}
    graph.start_arm(prr, {"initial_position": START}, **contact)
    efforts = graph.listen(JointState, "controller/external_efforts")
    wrenches = graph.listen(WrenchStamped, "controller/external_wrench")
    states = graph.listen(JointState, "joint_states")
    energies = graph.listen(Float64MultiArray, "controller/tool_energy")
    kinematics, force = rd.Kinematics(rd.load_robot(prr)), np.array([3.0, 0.0, -5.0])
    if source == "sensor":
        sensor = graph.talk(WrenchStamped, "controller/force_torque")
        graph.wait(lambda: states, "states")

        def feel():
            rotation = kinematics.pose("tool", states[-1].position)[:3, :3]
            weight = 0.5 * rotation.T @ [0.0, 0.0, -9.80665]
            message = push(force + weight)
            torque = message.wrench.torque
            torque.x, torque.y, torque.z = np.cross([0.1, 0.0, 0.0], weight)
            sensor.publish(message)
            return bool(wrenches)
    else:
        graph.wait(lambda: efforts and wrenches, "what acts from outside")
        hand, held = graph.talk(WrenchStamped, "simulator/apply_wrench"), [force]
        timer = graph.node.create_timer(0.02, lambda: hand.publish(push(held[0])))

        def feel():
            return np.abs(wrench_of(wrenches[-1])[[0, 2]] - force[[0, 2]]).max() < 0.05

    graph.wait(feel, "the push")
    assert wrenches[-1].header.frame_id == "tool"
    assert_allclose(wrench_of(wrenches[-1])[[0, 2]], force[[0, 2]], atol=0.06)

    def is_told():
        """The efforts are a message of their own, of another moment than the wrench's."""
        expected = kinematics.jacobian("tool", states[-1].position, "body").T[:, :3] @ force
        return (source != "sensor" or feel()) and efforts and np.abs(efforts[-1].effort - expected).max() < 0.1

    graph.wait(is_told, "the efforts of the push")
    assert list(efforts[-1].name) == list(START)

    def nothing():
        if source == "sensor":
            feel()
        return np.abs(wrench_of(wrenches[-1])).max() < 0.1

    if source != "sensor":  # nothing moves that arm
        graph.wait(lambda: energies, "the energy of the tool")
        held[0] = -force
        graph.wait(lambda: any(message.data[0] > 1e-9 for message in energies), "the arm to move")
        energy, mass = max(tuple(message.data) for message in energies)
        assert 0.1 < mass < 1e3  # [kg]
        assert np.sqrt(2.0 * energy / mass) < 1.0  # a push of 6 N makes it no faster [m/s]

        def other():
            return np.abs(wrench_of(wrenches[-1])[[0, 2]] + force[[0, 2]]).max() < 0.05

        graph.wait(other, "the other push")
        timer.cancel()
        graph.wait(nothing, "the end of the push by itself")

        def refused():
            return graph.count("simulator", "wrench refused")

        graph.send(hand, push(force, "nothing"), refused, "the refusal of a push at no link")
        timer.reset()
        graph.wait(other, "the same push again")

    def tared():
        """Once more if the push had ended meanwhile, because this process was late."""
        assert graph.call(Trigger, "controller/tare").success
        end = monotonic() + 2.0
        graph.wait(lambda: nothing() or monotonic() > end, "an answer")
        return nothing()

    graph.wait(tared, "nothing after ~/tare")


def test_measured_efforts_that_are_missing_are_told():
    """A message about other joints is none of the observer's, and is not counted."""
    counted = []
    topics = ContactTopics.__new__(ContactTopics)
    topics._order = JointOrder(tuple(START))
    topics._transmission, topics._observer = None, object()
    topics._contact = topics._observer
    topics._loop = SimpleNamespace(settings=SimpleNamespace(contact=topics._contact))
    topics._closed = SimpleNamespace(faults=SimpleNamespace(count=lambda *told: counted.append(" | ".join(told))))
    whole = {field: [0.1, 0.2, 0.3] for field in ("position", "velocity", "effort")}
    for missing in ("effort", "velocity"):
        topics._on_state(serialize_message(JointState(name=list(START), **(whole | {missing: []}))))
    topics._on_state(serialize_message(JointState(name=["finger"], position=[0.1])))
    topics._on_state(serialize_message(JointState(name=["elevator"], position=[0.1])))
    told = "contact not observed | contact.effort_source takes joint_states: "
    assert counted[:-1] == [f"{told}{missing}: has 0 values for 3 joints" for missing in ("effort", "velocity")]
    assert counted[-1].startswith(f"{told}name: joint 'shoulder' is missing among elevator")


class Asked:
    """A node whose services answer with parameters, at once, and which keeps what would be called with messages."""

    def __init__(self, **values):
        self.values, self.heard, self.is_silent = values, [], False

    def create_subscription(self, kind, topic, call, qos):
        self.heard.append(call)

    def create_client(self, kind, service):
        def call(request):
            node = service.partition("/")[0]
            found = [self.values.get((node, name), self.values.get(name)) for name in request.names]
            answer = [Parameter("any", value=each).to_parameter_msg().value for each in found]
            has_come = not self.is_silent
            return SimpleNamespace(done=lambda: has_come, result=lambda: SimpleNamespace(values=answer))

        return SimpleNamespace(call_async=call, service_is_ready=lambda: True, remove_pending_request=lambda _: None)


def watched(prr):
    """What a watch knows of the arm, and the pose of its tool."""
    robot, q = rd.load_robot(prr), np.array([0.3, -0.9, 0.4])
    pose = rd.Kinematics(robot).pose("tool", q)
    return SimpleNamespace(robot=robot, commanded=(), q=q, subscriptions=[], clients=[]), pose


def test_the_wrench_is_drawn_where_it_acts(monkeypatch, prr):
    """An arrow at the link, as long as the arm for a force of its weight; none for a faint or an old one."""
    (watch, pose), node, now = watched(prr), Asked(), 10.0
    monkeypatch.setattr("robodyn_ros.nodes.common.watch.monotonic", lambda: now)
    view, robot = ToolWatch(node, watch), watch.robot
    assert view.marks(2.0) == []
    weight = 9.81 * sum(body.inertial.mass for body in robot.bodies)
    node.heard[0](push((0.0, 0.0, 0.5 * weight)))
    (arrow,) = view.marks(2.0)
    assert_allclose(arrow.start, pose[:3, 3])
    assert_allclose(arrow.end - arrow.start, 0.5 * 2.0 * pose[:3, 2], atol=1e-12)
    for now, count in ((10.4, 1), (10.6, 0)):  # noqa: B007
        assert len(view.marks(2.0)) == count
    node.heard[0](push((0.0, 0.0, 1e-3 * weight)))
    assert view.marks(2.0) == []
    node.heard[0](push((0.0, 0.0, weight), frame="nowhere"))  # it is not the arm's: the one before stays
    assert view.marks(2.0) == []


def test_the_stiffness_is_drawn_while_its_law_runs(prr):
    """An ellipsoid along the axes of the base or of the tool, as long as each is stiff."""
    law = {"cartesian_impedance.stiffness": [800.0, 0.0, 1e6, 30.0, 30.0, 30.0]}
    node, (watch, pose) = Asked(controller="cartesian_impedance", **law), watched(prr)
    for frame, axes in (("base", np.eye(3)), ("tool", pose[:3, :3])):
        node.values["task.frame"] = frame
        view = ToolWatch(node, watch)
        view.marks(1.0)
        (ball,) = view.marks(1.0)
        assert_allclose(ball.center, pose[:3, 3])
        assert_allclose(ball.rotation, axes)
        assert_allclose(ball.radii, [0.1, 0.004, 0.5])
    node.values["controller"] = "computed_torque"
    view = ToolWatch(node, watch)
    view.marks(1.0)
    assert view.marks(1.0) == []


def test_a_controller_that_answers_no_more_is_asked_again(monkeypatch, prr):
    """It may have ended with a request, and another one has begun since: the picture would stay that of the first."""
    law, now = {"cartesian_impedance.stiffness": [800.0, 0.0, 1e6, 30.0, 30.0, 30.0]}, 10.0
    monkeypatch.setattr("robodyn_ros.nodes.common.watch.monotonic", lambda: now)
    node, (watch, _) = Asked(controller="cartesian_impedance", **law), watched(prr)
    view, drawn = ToolWatch(node, watch), []
    for now, node.is_silent in ((10, False), (10.5, True), (11.5, True), (14, True), (15, False), (16, False)):  # noqa: B007
        drawn.append(len(view.marks(1.0)))
    assert drawn == [0, 1, 1, 1, 0, 1]


def test_walls_are_drawn_where_the_tool_meets_them(prr):
    watch, pose = watched(prr)
    tool = pose[:3, 3]
    wall = {"wall.point": [0.7, 0.1, 0.2], "wall.normal": [-3.0, 0.0, 4.0]}
    box = {"hand_guiding.walls": [-1e3, -1e3, 0.2, 0.6, 1e3, 1.2]}
    node = Asked(controller="hand_guiding", **{"wall.link": "tool"}, **wall, **box)
    view = ToolWatch(node, watch)
    view.marks(1.0)
    edges = {mark.name: mark.points for mark in view.marks(1.0) if mark.name.endswith("edge")}
    assert set(edges) == {"surface.edge", "lower_z.edge", "upper_z.edge", "upper_x.edge"}
    assert_allclose((edges["surface.edge"] - [0.7, 0.1, 0.2]) @ [-0.6, 0.0, 0.8], 0.0, atol=1e-12)
    away = edges["surface.edge"][:4].mean(axis=0) - tool  # the middle is the point of the wall nearest to the tool
    assert_allclose(np.cross(away, [-0.6, 0.0, 0.8]), 0.0, atol=1e-12)
    assert_allclose(edges["upper_x.edge"][:4].mean(axis=0), [0.6, tool[1], 0.7])
    assert_allclose(edges["lower_z.edge"][:4].mean(axis=0), [*tool[:2], 0.2])
    out = {
        mark.name: np.sign(np.diff(mark.points, axis=0)).tolist() for mark in view.marks(1.0) if ".normal" in mark.name
    }
    assert out["upper_x.normal"] == [[-1.0, 0.0, 0.0]] and out["lower_z.normal"] == [[0.0, 0.0, 1.0]]  # to the tool


def test_the_arrow_of_gravity_shows_the_gravity_in_force(prr):
    """Standard gravity while neither node answers, and no arrow where nothing falls."""
    robot, node = rd.load_robot(prr), Asked()
    picture = Picture(node, robot, "", frozenset({"gravity"}))
    picture.watch.q = robot.home
    viewed = MagicMock(_restarts=0, _begun=0.0, _terms={}, _tool=picture.at_tool, watch=MagicMock(restarts=0, time=0.0))

    def arrows():
        picture.at_tool._asked = dict.fromkeys(ASKED, -np.inf)
        found = [np.subtract(*([p.x, p.y, p.z] for p in m.points[::-1])) for m in picture.message().markers if m.points]
        View.draw(viewed)
        return found, viewed.browser.overlay.gravity

    for told, g in (
        ({}, STANDARD_GRAVITY),
        ({CONTROLLER: [9.81, 0.0, 0.0]}, [9.81, 0.0, 0.0]),
        ({CONTROLLER: [9.81, 0.0, 0.0], SIMULATOR: [0.0, 3.0, -4.0]}, [0.0, 3.0, -4.0]),
        ({SIMULATOR: [0.0, 0.0, 0.0]}, [0.0, 0.0, 0.0]),
    ):
        node.values = {(name, "gravity"): value for name, value in told.items()}
        arrows()  # the answer is read with the next request
        found, known = arrows()
        assert_allclose(known, g)
        assert len(found) == any(g)
        for arrow in found:
            assert_allclose(arrow, 0.35 * picture.overlay.size * np.array(g) / np.linalg.norm(g), atol=1e-12)


def test_an_effort_is_drawn_as_a_ratio_of_the_limit_in_force(prr):
    """An arm with low limits was green at them. A locked joint has no limit in the controller, which is not asked."""
    robot, node = rd.load_robot(prr), Asked(**{"effort_limits.shoulder": 24.0, "effort_limits.wrist": 18.0})
    picture = Picture(node, robot, "", frozenset({"effort"}))
    picture.watch.q = robot.home
    viewed = MagicMock(_restarts=0, _begun=0.0, _terms={}, _tool=picture.at_tool, watch=MagicMock(restarts=0, time=0.0))

    def color():
        (arc,) = (marker for marker in picture.message().markers if marker.type == Marker.LINE_STRIP)
        return arc.color.r, arc.color.g, arc.color.b

    picture.watch._on_command(JointState(name=["shoulder"], effort=[24.0]), JointOrder(robot.joint_names))
    red, green, _ = color()  # the controller has not answered yet: a quarter of the URDF's 96 N·m
    assert green > red
    assert_allclose(color(), (0.95, 0.15, 0.15), rtol=1e-6)
    View.draw(viewed)
    assert_allclose(viewed.browser.overlay.effort_limit, [600.0, 24.0, 36.0])


def test_a_sensor_that_is_silent_is_told():
    """No contact is found without it. While a simulation is paused, no states come either."""
    counted, topics = [], ContactTopics.__new__(ContactTopics)
    closed = SimpleNamespace(latest=None, faults=SimpleNamespace(count=lambda *told: counted.append(told)))
    topics._closed, topics._silent, topics._seen = closed, 0, 0.0

    def checks(count, step):
        for _ in range(count):
            if step:
                closed.latest = (Time(sec=int(topics._seen) + step), None)
            topics._watch_sensor()
        return len(counted)

    assert checks(3, 0) == 0  # no states either
    assert checks(1, 1) == 0  # the sensor may be found a moment later
    assert checks(2, 1) == 2 and "~/force_torque" in counted[0][1]
    assert checks(3, 0) == 2
    topics._silent = 0  # a message has come
    assert checks(1, 1) == 2


def test_measured_efforts_are_observed_with_the_present_model(prr):
    """Another law comes with a model of its own; a payload that was given after it was felt as a push."""
    robot = rd.load_robot(prr)
    chosen = {"contact.observe": "joints", "contact.effort_source": "measured", "contact.gain": 200.0}
    values = FileParameters(chosen, loop_default_values(robot))
    before, after = (rd.create_dynamics("rnea", robot) for _ in range(2))
    after.configure(payload=rd.Payload("tool", 2.0))
    topics = ContactTopics.__new__(ContactTopics)
    topics._order, topics._robot, topics._last, topics._parameters = JointOrder(tuple(START)), robot, None, values
    same = {f"joint_{what}": lambda numbers: numbers for what in ("position", "velocity", "effort")}
    topics._transmission, topics._publish = SimpleNamespace(**same), lambda *_: None
    topics._contact, topics._observer = contact_of(values, before), contact_of(values, before).observer
    topics._source = "measured"
    with pytest.raises(NotReadyError, match="no joint state with efforts"):
        topics.tare()
    topics._observer.bias[:] = 0.5
    settings = SimpleNamespace(contact=contact_of(values, after))
    topics._loop = SimpleNamespace(settings=settings, dynamics=after, judge_contact=lambda *_: None)
    q = list(START.values())
    state = JointState(name=list(START), position=q, velocity=[0.0] * 3, effort=after.gravity(np.array(q)).tolist())
    for k in range(1, 200):
        state.header.stamp.nanosec = k * 1_000_000
        topics._on_state(serialize_message(state))
    assert_allclose(topics._observer.efforts, -0.5, atol=1e-6)  # ~/tare goes on


def test_only_what_is_wrong_with_a_message_of_the_sensor_is_refused(prr):
    """An error of the loop is not put down to the sensor; the node logs it as an error of its own."""
    robot, counted = rd.load_robot(prr), []
    topics = ContactTopics.__new__(ContactTopics)
    topics._source, topics._robot, topics._link, topics._sensed = "sensor", robot, "tool", False
    topics._kinematics, topics._sensor = rd.Kinematics(robot), ForceTorqueSensor()
    faults = SimpleNamespace(count=lambda kind, problem: counted.append((kind, str(problem))))
    command = SimpleNamespace(state=(np.array(list(START.values())),))
    topics._closed = SimpleNamespace(latest=(Time(sec=1), command), faults=faults)
    settings = SimpleNamespace(contact=object())
    judge = MagicMock(side_effect=rd.InputError("efforts, wrench", "of the loop"))
    topics._loop = SimpleNamespace(settings=settings, dynamics=rd.create_dynamics("rnea", robot), judge_contact=judge)
    for wrong in (push((1.0, 2.0, 3.0), "elbow"), push((1.0, np.nan, 3.0))):
        topics._on_sensor(serialize_message(wrong))
    assert [kind for kind, _ in counted] == ["force-torque refused"] * 2 and not judge.called
    with pytest.raises(rd.InputError, match="of the loop"):
        topics._on_sensor(serialize_message(push((1.0, 2.0, 3.0))))
    assert len(counted) == 2
