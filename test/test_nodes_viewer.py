# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The viewer in a real browser: it shows the arm, the handle and the sliders move it, its buttons reach the nodes."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock
from urllib.request import urlopen

import numpy as np
import pytest
from browser import page, picture
from free_port import free_port
from geometry_msgs.msg import PoseStamped
from industrial import urdfs
from rcl_interfaces.msg import Log, Parameter, ParameterEvent, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robodyn_ros as rd
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.errors import LimitError
from robodyn_ros.nodes.common.messages import from_trajectory, seconds
from robodyn_ros.nodes.viewer import interaction
from robodyn_ros.nodes.viewer import node as viewer
from robodyn_ros.nodes.viewer.interaction import ArmRequests, ViewPlan, ViewPush, demo_poses
from robodyn_ros.nodes.viewer.node import PosedArm

ROOT = Path(__file__).parents[1]
PRR, GAINS = ROOT / "urdf" / "prr.urdf", ROOT / "config" / "prr.yaml"


@pytest.fixture
def port():
    return free_port()


def printed_address(graph, viewer, port):
    """The address that opens the page, with its token."""

    def lines():
        return [line for line in viewer.output.splitlines() if line.startswith(f"http://127.0.0.1:{port}/?token=")]

    graph.wait(lines, "the viewer's address", 300.0)
    return lines()[0]


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_the_handle_and_the_sliders_move_the_arm(graph, port):
    graph.state_rate = 100.0
    # The browser draws in software, on the same cores: simulated time waits for the commands, or brakes would close.
    lockstep = {"lockstep": True, "real_time_factor": 1.0}
    graph.start("simulator", "-r", "joint_commands:=controller/joint_commands", robot_description=str(PRR), **lockstep)
    graph.start("controller", "--params-file", str(GAINS), robot_description=str(PRR), use_sim_time=True)
    viewer = graph.start("viewer", robot_description=str(PRR), port=port, use_sim_time=True)
    states, clocks = graph.listen(JointState, "joint_states"), graph.listen(Clock, "/clock")
    tools, targets = (graph.listen(PoseStamped, f"controller/{name}_pose") for name in ("tool", "goal"))
    address = printed_address(graph, viewer, port)
    graph.wait(lambda: states, "joint states", 300.0)
    with page(760, 420) as shown:
        shown.goto(address)
        shown.get_by_text("prr at").wait_for()

        def seen(condition, what):
            """The picture with something in it: in the next one it may be hidden."""
            pictures = []

            def look():
                pictures.append(picture(shown))
                return condition(pictures[-1])

            graph.wait(look, what, 300.0)
            return pictures[-1]

        def orange(image):  # of the arm's beam, beside the panel
            part = image[:, :415]
            return (part[:, :, 0] > 0.55) & (part[:, :, 2] < 0.35) & (part[:, :, 1] > 0.25)

        def pink(image):  # of the handle's arrow along x, and of the ring about x
            part = image[:, :415]
            return (part[:, :, 0] > 0.9) & (part[:, :, 1] < 0.3) & (part[:, :, 2] < 0.6)

        def yellow(image):  # the same while the mouse is on it
            part = image[:, :415]
            return (part[:, :, 0] > 0.8) & (part[:, :, 1] > 0.8) & (part[:, :, 2] < 0.65)

        shown.locator(".mantine-Notification-closeButton").first.click()
        seen(lambda image: orange(image).sum() > 60, "the arm in the picture")
        places = np.argwhere(pink(seen(lambda image: pink(image).sum() > 10, "the handle at the tool")))
        y, x = np.median(places[places[:, 1] >= places[:, 1].max() - 4], axis=0)  # the tip of the arrow
        shown.mouse.move(x, y)
        seen(lambda image: yellow(image).sum() > 20, "its arrow under the mouse")
        shown.mouse.down()
        shown.mouse.move(x - 20, y + 2)
        shown.mouse.move(x - 40, y + 4)
        seen(lambda image: np.argwhere(yellow(image))[:, 1].mean() < x - 10, "it following the mouse")
        shown.mouse.up()
        graph.wait(lambda: targets, "a target", 300.0)
        asked = targets[-1].pose.position
        assert asked.x < -0.1
        assert asked.z == pytest.approx(tools[0].pose.position.z, abs=1e-6)
        graph.wait(lambda: abs(tools[-1].pose.position.x - asked.x) < 2e-3, "the tool there", 300.0)
        shown.get_by_text("target succeeded").wait_for()
        before = picture(shown)
        slider = shown.get_by_role("textbox").nth(1)  # the shoulder's number, beside its slider
        slider.fill("-1.2")
        slider.press("Enter")
        graph.wait(lambda: abs(states[-1].position[1] + 1.2) < 0.02, "the arm at -1.2 rad", 300.0)

        def moved(image):
            new, old = orange(image), orange(before)
            return (new & ~old).sum() > 60 and (old & ~new).sum() > 60

        seen(moved, "the arm elsewhere in the picture")
        shown.get_by_label("pause").click()
        graph.wait(lambda: len(clocks) > 0 and _stands(graph, states), "the clock to stand still", 300.0)
        paused = seconds(states[-1].header.stamp)
        shown.get_by_role("button", name="Step").click()
        graph.wait(lambda: seconds(states[-1].header.stamp) > paused, "one step", 300.0)
        assert seconds(states[-1].header.stamp) == pytest.approx(paused + 0.01)
        shown.get_by_role("button", name="Reset").click()
        graph.wait(lambda: seconds(states[-1].header.stamp) < paused, "time 0", 300.0)
        graph.wait(lambda: abs(states[-1].position[1]) < 0.1, "the start", 300.0)
        assert shown.elsewhere == []  # everything comes from this machine
    viewer.stop()


def _stands(graph, states):
    """Whether no state came for a second, in which a simulator that is not paused sends a hundred."""
    last, end = states[-1].header.stamp, time.monotonic() + 1.0
    while time.monotonic() < end:
        graph.spin_once()
    return states[-1].header.stamp == last


@pytest.mark.thorough
def test_another_controller_has_not_the_parameters_and_the_viewer_goes_on(graph, port):
    """An exception in the callback of a service's future ends the process: rclpy's EventsExecutor crashes."""
    asked = []

    def answer(request, response):
        asked.append(list(request.names))
        return response  # with no values, as rclpy answers where a parameter is not declared

    graph.node.create_service(GetParameters, "controller/get_parameters", answer)
    viewer = graph.start("viewer", robot_description=str(PRR), port=port, use_sim_time=True)
    states = graph.talk(JointState, "joint_states")
    names = ["elevator", "shoulder", "wrist"]

    def answered_often():
        message = JointState(name=names, position=[0.5, 0.1, 0.2], velocity=[0.0] * 3)
        message.header.stamp = graph.node.get_clock().now().to_msg()
        states.publish(message)
        return viewer.failed or (["controller", "dynamics"] in asked and len(asked) > 2)

    graph.wait(answered_often, "questions for parameters")
    assert not viewer.failed
    viewer.send(signal.SIGINT)
    assert viewer.ended() == 0
    assert "Traceback" not in viewer.output


def test_only_this_machine_can_reach_it_and_no_other_viewer_takes_its_port(graph, port):
    viewer = graph.start("viewer", "-r", "__ns:=/left", robot_description=str(PRR), port=port, use_sim_time=True)
    address = printed_address(graph, viewer, port)
    assert viewer.output.count(address.partition("=")[2]) == 1  # the token is in no log
    graph.wait(lambda: f"[left.viewer]: prr: 3 joints, shown at port {port}" in viewer.output, "whose page it is")
    listening = Path("/proc/net/tcp").read_text().splitlines() + Path("/proc/net/tcp6").read_text().splitlines()
    at_port = [line.split()[1].split(":")[0] for line in listening if line.split()[1].endswith(f":{port:04X}")]
    assert at_port == ["0100007F"]  # 127.0.0.1, and nothing else
    with urlopen(address) as answer:
        assert b"<title>prr (left)</title>" in answer.read()
    other = graph.start("viewer", robot_description=str(PRR), port=port)
    assert other.ended() == 1
    assert "choose another port" in other.output and "Traceback" not in other.output
    viewer.stop()


@pytest.mark.thorough
def test_the_verb_prints_the_address_or_what_is_in_the_way(port):
    """Before it prints an address, the page is there; a busy port has none."""
    command = [sys.executable, "-m", "robodyn_ros.cli.main", "view", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        address = running.stdout.readline().split()[0]
        assert address.startswith(f"http://127.0.0.1:{port}/?token=")
        with urlopen(address, timeout=30.0) as answer:
            assert answer.status == 200
        busy = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "http" not in busy.stdout
        assert "choose another port" in busy.stderr
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30.0)


@pytest.mark.parametrize("arm", ["prr", "panda", "ur5_robot"])
def test_the_demo_stays_within_the_limits(arm):
    """Home of the Panda is at a limit of its fourth joint."""
    path = {"prr": PRR, **urdfs()}.get(arm)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    robot = rd.load_robot(path)
    poses = demo_poses(robot)
    for pose in poses:
        check_position_limits("demo", robot, pose, list(range(robot.n)))
    assert (np.ptp(poses[:-1], axis=0) > 0.1 * np.minimum(robot.upper - robot.lower, np.pi)).all()
    assert (poses[-1] == robot.home).all()


@pytest.fixture
def asking():
    """A node with what it does with messages, its clients of services, requests by it, and those of the panel."""
    node, clients = Mock(), {}
    node.resolve_topic_name.return_value = "/left/controller"
    node.create_client.side_effect = lambda _kind, name: clients.setdefault(name, Mock())
    node.guarded.side_effect = lambda call: call
    requests = ArmRequests(node, Mock(robot=rd.load_robot(PRR), q=np.zeros(3)), 0.3)
    node.heard = {call.args[0]: call.args[2] for call in node.create_subscription.call_args_list}
    return node, clients, requests, requests.for_panel(simulated=True, posed=False, push=None, picture=Mock())


def test_a_node_that_is_gone_is_named_in_the_page(asking):
    _, clients, requests, panel = asking
    for client in clients.values():
        client.service_is_ready.return_value = False
    for ask, said in (
        (lambda: panel.payload(1.0, False), "simulator/set_parameters: there is no such service now"),
        (lambda: panel.stiffness(2.0), "controller: there is no such node now"),
    ):
        ask()
        requests.send()
        assert requests.answer == f" — {said}"
    assert not any(client.call_async.called for client in clients.values())


def test_a_motion_that_is_refused_is_said_in_the_page(asking):
    node, _, requests, panel = asking
    tell = node.heard[Log]
    refusal = Log(name="left.controller", level=30, msg="trajectory refused: joint 'wrist' is outside its limits")
    tell(refusal)
    assert requests.answer == ""  # nobody has asked for anything
    panel.demo()
    requests.send()
    assert node.create_publisher.return_value.publish.call_count == 1
    tell(Log(name="right.controller", level=30, msg="something else"))
    tell(Log(name="left.controller", level=20, msg="something good"))
    assert requests.answer == ""
    tell(refusal)
    assert requests.answer == f" — controller: {refusal.msg}"


def test_the_payload_of_the_panel_leaves_that_of_the_model_alone_unless_it_is_told(asking):
    """The slider overwrote the payload that a parameter file gives the controller, by 0."""
    _, clients, requests, panel = asking
    masses = []
    for mass, told in [(1.0, False), (2.0, True), (2.0, False), (3.0, False)]:
        panel.payload(mass, told)
        requests.send()
        calls = clients["controller/set_parameters"].call_async.call_args_list
        masses.append([call.args[0].parameters[0].value.double_value for call in calls])
    assert masses == [[], [2.0], [2.0, 0.0], [2.0, 0.0]]
    assert clients["simulator/set_parameters"].call_async.call_count == 4


def test_the_stiffness_of_the_panel_changes_all_joints_but_those_that_are_locked(asking):
    """Their parameters do not exist, and rclpy answers a request that names such a one with no values at all."""
    _, clients, requests, panel = asking
    asked, sent = clients["controller/get_parameters"].call_async, clients["controller/set_parameters"].call_async
    panel.stiffness(2.0)
    requests.send()
    panel.stiffness(4.0)  # while the answers are awaited
    requests.send()
    calls = list(zip(asked.call_args_list, asked.return_value.add_done_callback.call_args_list, strict=True))
    for call, then in calls:
        (name,) = call.args[0].names
        values = [] if "shoulder" in name else [ParameterValue(type=3, double_value=12.0 if "wrist" in name else 9.0)]
        then.args[0](Mock(**{"result.return_value.values": values}))
    requests.send()
    panel.stiffness(0.25)
    requests.send()
    found = [{one.name: one.value.double_value for one in call.args[0].parameters} for call in sent.call_args_list]
    elevator, wrist = (f"gains.{name}.natural_frequency" for name in ("elevator", "wrist"))
    assert found == [{elevator: 18.0}, {wrist: 24.0}, {elevator: 4.5, wrist: 6.0}]


def test_the_panel_shows_the_plugins_that_are_in_use(asking):
    """It asked once: after a refused choice, another node's choice or a new controller it showed wrong ones."""
    node, clients, requests, panel = asking
    tell = node.heard[ParameterEvent]

    def asked():
        requests.ask_plugins(Mock())
        return clients["controller/get_parameters"].call_async.call_count

    assert (asked(), asked()) == (1, 1)
    law = [Parameter(name="controller")]
    tell(ParameterEvent(node="/right/controller", changed_parameters=law))
    tell(ParameterEvent(node="/left/controller", changed_parameters=[Parameter(name="damping")]))
    assert asked() == 1
    tell(ParameterEvent(node="/left/controller", changed_parameters=law))
    assert (asked(), asked()) == (2, 2)
    tell(ParameterEvent(node="/left/controller", new_parameters=law))
    assert (asked(), asked()) == (3, 3)
    panel.choose("controller", "pd")
    requests.send()
    assert asked() == 3
    (answered,) = clients["controller/set_parameters"].call_async.return_value.add_done_callback.call_args.args
    answered(Mock(**{"result.return_value": SetParameters.Response()}))
    assert (asked(), asked()) == (4, 4)


def test_a_plan_of_before_the_viewer_is_shown_though_it_comes_before_the_first_state(monkeypatch):
    drawings = {"MarkDrawing": Mock(), "ArmDrawing": Mock()}
    for name, drawing in drawings.items():
        monkeypatch.setattr(interaction, name, drawing)
    node, robot = Mock(), rd.load_robot(PRR)
    watch = Mock(robot=robot, q=None)
    plan = ViewPlan(node, watch, Mock(**{"overlay.tip": robot.bodies[-1].name}))
    tell = node.create_subscription.call_args.args[2]
    motion = rest_to_rest([np.zeros(3), np.full(3, 0.1)], np.array([0.0, 1.0]))
    tell(from_trajectory(robot.joint_names, motion))
    plan.draw()
    watch.q = np.zeros(3)
    plan.draw()
    (line,) = drawings["MarkDrawing"].return_value.draw.call_args.args[0]
    assert line.layer == "plan"
    ghost, drawn = drawings["ArmDrawing"].return_value, drawings["MarkDrawing"].return_value.draw
    assert ghost.move.called and ghost.show.call_args.args == (True,)
    for other in ({"joint_names": ["a", "b", "c"]}, {"joint_names": ["wrist", "wrist", "elevator"]}):  # of no use here
        tell(JointTrajectory(**other, points=from_trajectory(robot.joint_names, motion).points))
        plan.draw()
        assert drawn.call_args.args[0] == [line]
    watch.q = np.array([0.0, 0.1, 0.0])  # the arm leaves the start
    plan.draw()
    assert drawn.call_args.args == ((),) and ghost.show.call_args.args == (False,)
    count = drawn.call_count
    plan.draw()
    assert drawn.call_count == count


def test_a_push_is_sent_in_the_axes_of_the_tool_and_only_while_the_handle_is_held(monkeypatch):
    handle = Mock()
    monkeypatch.setattr(interaction, "Pusher", handle)
    node, robot = Mock(), rd.load_robot(PRR)
    watch = Mock(robot=robot, q=None)
    push = ViewPush(node, watch, Mock(**{"overlay.tip": "tool", "overlay.size": 2.0}))
    push.allow(True)
    handle, published = handle.return_value, node.create_publisher.return_value.publish
    assert push.draw() == [] and not handle.force.called  # no state yet
    watch.q, handle.force.return_value = np.array([0.8, 0.6, -0.4]), None
    assert push.draw() == [] and not published.called
    handle.force.return_value = np.array([3.0, -2.0, -5.0])
    assert push.draw() == [handle.mark.return_value] and handle.shown is True
    (message,) = published.call_args.args
    assert message.header.frame_id == "tool"
    found, c, s = message.wrench.force, np.cos(0.2), np.sin(0.2)  # the tool is turned about y
    np.testing.assert_allclose([found.x, found.y, found.z], [c * 3.0 + s * 5.0, -2.0, s * 3.0 - c * 5.0])
    place = [0.5 * np.sin(0.6) + 0.343 * np.sin(0.2), 0.0, 0.8 + 0.5 * np.cos(0.6) + 0.343 * np.cos(0.2)]
    np.testing.assert_allclose(handle.force.call_args.args[0], place)


@pytest.mark.parametrize("begin", [0, 1])
def test_an_arm_that_is_posed_follows_motions_that_begin_at_once_and_joints_in_any_order(begin):
    node, robot = Mock(), rd.load_robot(PRR)
    posed = PosedArm(node, robot)
    message = JointTrajectory(joint_names=["wrist", "elevator"])
    for count, q in enumerate(([0.2, 0.1], [0.4, 0.3])):
        message.points.append(JointTrajectoryPoint(positions=q))
        message.points[-1].time_from_start.sec = begin + count
    posed._follow(message)
    message.joint_names = ["finger", "elevator"]
    posed._follow(message)  # another arm's
    posed._since -= 100.0
    posed._publish()
    (state,), _ = node.create_publisher.return_value.publish.call_args
    assert (list(state.name), list(state.position)) == (["elevator", "shoulder", "wrist"], [0.3, 0.0, 0.4])


def test_an_arm_without_masses_follows_a_trajectory_exactly():
    """Quintics too: its points' accelerations were dropped."""
    posed = PosedArm(Mock(), rd.load_robot(PRR))
    motion = rest_to_rest([[0.2, 0.3, -0.4], [0.4, -0.1, 0.2]], [1.0, 3.0])
    posed._follow(from_trajectory(["elevator", "shoulder", "wrist"], motion))
    times = np.linspace(1.0, 3.0, 21)
    np.testing.assert_allclose(posed._trajectory.samples(times).q, motion.samples(times).q, atol=1e-12)


def test_a_pose_that_does_not_fit_the_arm_leaves_the_port_free(monkeypatch):
    """The page of that arm stayed open without anything in it, and kept the next arm from being shown."""
    values = dict.fromkeys(("robot_description", "urdf_file", "host", "port", "tool"), "")
    values |= {"poses.reach": [0.1, 9.0, 0.0], "use_sim_time": False, "posed": False}
    opened = Mock()
    monkeypatch.setattr(viewer, "NodeParameters", lambda node: values)
    monkeypatch.setattr(viewer, "Browser", opened)
    node = viewer.ViewerNode.__new__(viewer.ViewerNode)
    node._description, node._pose_names = Mock(**{"robot.return_value": rd.load_robot(PRR)}), lambda: ["reach"]
    with pytest.raises(LimitError, match="reach"):
        node._make_view()
    assert not opened.called


def test_an_arm_that_is_not_there_is_awaited(graph, port):
    command = graph.command("view", "--attach", "--namespace", "left", "--port", port)
    graph.wait(lambda: "waiting for the topic robot_description" in command.output, "what it waits for")
    graph.wait(lambda: graph.has("left/viewer"), "the viewer in the namespace")
    command.send(signal.SIGINT)
    assert command.ended() == 130
