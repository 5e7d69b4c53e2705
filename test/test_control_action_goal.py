# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The goals of FollowJointTrajectory: tolerances, feedback, cancel and preemption.

control_msgs is not among the wheels, so the server is driven here without the middleware: with stand-ins for its
messages and for rclpy's ActionServer, whose calls are made in the order in which rclpy makes them.
"""

import copy
import sys
from functools import partial
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import arms
import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectoryPoint

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, GravityCompensation, rest_to_rest
from robodyn_ros.control.motion.goals import RESULTS, ActionGoal, Tolerances, TrajectoryGoal, goal_tolerances
from robodyn_ros.errors import InputError, LimitError, NotReadyError
from robodyn_ros.nodes.controller import closed_loop
from robodyn_ros.nodes.controller import follow_joint_trajectory as module
from robodyn_ros.nodes.controller.follow_joint_trajectory import is_available

JOINTS = ("elevator", "shoulder", "wrist")
DEFAULTS = Tolerances(np.array([0.1, 0.2, np.inf]), np.array([0.01, np.inf, 0.03]), 0.05, 2.0)


class ScriptedGoal(TrajectoryGoal):
    """A trajectory whose end a test decides; the first counts."""

    def __init__(self):
        self.ends = []
        super().__init__(lambda: self.ends[0] if self.ends else None, lambda: "")

    def end(self, outcome):
        self.ends.append(outcome)


def test_tolerances_that_a_goal_asks_for():
    path, goal = [("shoulder", -1.0, 0.7), ("wrist", 0.5, -1.0)], [("elevator", 0.0, 0.3), ("wrist", 0.0, -1.0)]
    asked = goal_tolerances(DEFAULTS, JOINTS, path, goal, 0.0)
    np.testing.assert_array_equal(asked.path, [0.1, np.inf, 0.5])
    np.testing.assert_array_equal(asked.path_speed, [np.inf, 0.7, np.inf])
    np.testing.assert_array_equal(asked.goal, DEFAULTS.goal)
    np.testing.assert_array_equal(asked.speed, [0.3, 0.05, np.inf])
    assert asked.time == 2.0
    assert goal_tolerances(DEFAULTS, JOINTS, [], [], 3.0).time == 3.0
    assert goal_tolerances(DEFAULTS, JOINTS, [], [], -1.0).time == np.inf
    np.testing.assert_array_equal(DEFAULTS.path, [0.1, 0.2, np.inf])
    for bad in (("elbow", 0.1, 0.0), ("wrist", np.nan, 0.0), ("wrist", 0.1, np.nan)):
        with pytest.raises(InputError, match=bad[0]):
            goal_tolerances(DEFAULTS, JOINTS, [bad], [], 0.0)


def test_the_error_codes_are_those_of_the_action():
    """SUCCESSFUL, PATH_TOLERANCE_VIOLATED and GOAL_TOLERANCE_VIOLATED of control_msgs/action/FollowJointTrajectory."""
    codes = {outcome: RESULTS[outcome].code for outcome in RESULTS if "toler" in outcome or outcome == "succeeded"}
    assert codes == {"succeeded": 0, "path tolerance violated": -4, "goal tolerance violated": -5}


def test_a_goal_is_canceled_by_a_hold_unless_it_has_ended_or_cannot_be_held():
    for outcome, status in (("held", "canceled"), ("succeeded", "succeeded")):  # that at the same moment
        trajectory = ScriptedGoal()
        goal = ActionGoal(trajectory)
        assert goal.cancel(partial(trajectory.end, outcome))
        assert goal.result.status == status
        assert not goal.cancel(lambda: pytest.fail("it has ended: nothing is to be held"))
    trajectory = ScriptedGoal()
    goal = ActionGoal(trajectory)
    with pytest.raises(ZeroDivisionError):
        goal.cancel(lambda: 1 / 0)
    trajectory.end("held")  # by somebody else, later
    assert goal.result.status == "aborted"


class Goal(SimpleNamespace):
    """A goal's handle, as rclpy's."""

    def __init__(self, number, request):
        goal_id = SimpleNamespace(uuid=[number])
        super().__init__(goal_id=goal_id, request=request, ended=None, feedback=[], is_cancel_requested=False)

    @property
    def status(self):
        return self.ended

    def _update_state(self, event):
        """As rclpy has it when a request to cancel is accepted."""
        assert event.name == "CANCEL_GOAL"
        assert not self.is_cancel_requested
        self.is_cancel_requested = True

    def succeed(self):
        self.ended = "succeeded"

    def abort(self):
        self.ended = "aborted"

    def canceled(self):
        assert self.is_cancel_requested, "a goal that is executed cannot be canceled at once"
        self.ended = "canceled"

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)


class Loop:
    """A closed loop that accepts everything but a trajectory called bad."""

    def __init__(self):
        self.counts, self.scripts, self.latest, self.problem = [], [], None, ""
        self.recent = []
        self.configured = True
        self.control = SimpleNamespace(settings=SimpleNamespace(tolerances=DEFAULTS))
        self.robot = SimpleNamespace(joint_names=JOINTS)
        self.references, self.locked = self, {"finger"}

    def follow_message(self, trajectory, tolerances):
        if trajectory == "bad":
            raise LimitError("trajectory", "wrist", 9.0, -1.5, 2.1)
        for trajectory in self.scripts:
            trajectory.end("replaced")
        self.scripts.append(ScriptedGoal())
        self.scripts[-1].asked = tolerances
        return self.scripts[-1]

    def read(self):
        self.recent.extend(["trajectory refused", "too fast"])

    def hold(self):
        self.scripts[-1].end("held")


@pytest.fixture
def served(monkeypatch):
    """The server, its loop, and how a client's goal goes."""
    message = lambda **fields: SimpleNamespace(  # noqa: E731
        header=SimpleNamespace(stamp=None), desired=SimpleNamespace(), actual=SimpleNamespace(),
        error=SimpleNamespace(), **fields
    )  # fmt: skip
    services = SimpleNamespace(GetResultService=SimpleNamespace(Response=SimpleNamespace))
    kind = SimpleNamespace(Feedback=message, Result=SimpleNamespace, Impl=services)
    package, actions = ModuleType("control_msgs"), ModuleType("control_msgs.action")
    actions.FollowJointTrajectory = kind
    package.action = actions
    monkeypatch.setitem(sys.modules, "control_msgs", package)
    monkeypatch.setitem(sys.modules, "control_msgs.action", actions)
    monkeypatch.setattr(module, "ActionServer", lambda node, kind, name, **calls: SimpleNamespace(**calls, name=name))
    timer = SimpleNamespace()
    timer.cancel, timer.reset = (lambda: setattr(timer, "runs", False)), (lambda: setattr(timer, "runs", True))
    loop = Loop()

    def configured():
        if not loop.configured:
            raise NotReadyError("the node is not configured")
        return loop

    node = SimpleNamespace(
        create_timer=lambda *_, autostart, **__: vars(timer).update(runs=autostart) or timer,
        executor=None,
        guarded=lambda callback, _: callback,
        faults=SimpleNamespace(count=lambda kind, problem: loop.counts.append(kind), recent=loop.recent),
    )
    server = module.FollowJointTrajectory(node, configured)
    server.timer = timer
    return server, loop


def accept(server, number, trajectory="good", path=()):
    """The handle of a client's goal; None if it is refused."""
    tolerance = [SimpleNamespace(name=name, position=value, velocity=0.0) for name, value in path]
    goal = SimpleNamespace(
        trajectory=trajectory,
        multi_dof_trajectory=SimpleNamespace(points=[1] if trajectory == "many" else []),
        path_tolerance=tolerance,
        goal_tolerance=[],
        goal_time_tolerance=SimpleNamespace(sec=0, nanosec=500_000_000),
    )
    if server._server.goal_callback(goal).name == "REJECT":
        return None
    return Goal(number, goal)


def send(server, *goal, **fields):
    """What a client's goal leads to: its handle and the coroutine that executes it; None if it is refused."""
    if (handle := accept(server, *goal, **fields)) is None:
        return None
    execution = server._server.execute_callback(handle)
    execution.send(None)  # as far as it goes: it waits for the end
    return handle, execution


def result(execution):
    with pytest.raises(StopIteration) as caught:
        execution.send(None)
    return caught.value.value


def test_the_server_gives_feedback_and_the_result(served):
    server, loop = served
    assert server._server.name == "~/follow_joint_trajectory"
    handle, execution = send(server, 1, path=[("wrist", 0.25), ("finger", 0.1)])
    assert (loop.scripts[0].asked.path[2], loop.scripts[0].asked.time) == (0.25, 0.5)
    server.update()
    assert handle.feedback == []
    reference = SimpleNamespace(q=np.full(3, 2.0), qd=np.full(3, 0.5))
    command = SimpleNamespace(
        reference=type("R", (tuple,), {"q": reference.q, "qd": reference.qd})((reference.q, reference.qd, np.zeros(3))),
        state=(np.full(3, 1.5), np.full(3, 0.25)),
    )
    loop.latest = ("now", command)
    server.update()
    (feedback,) = handle.feedback
    assert feedback.header.stamp == "now"
    assert feedback.joint_names == list(JOINTS)
    assert (feedback.desired.positions, feedback.actual.velocities) == ([2.0] * 3, [0.25] * 3)
    assert (feedback.error.positions, feedback.error.velocities) == ([0.5] * 3, [0.25] * 3)
    loop.scripts[0].end("goal tolerance violated")
    server.update()
    assert result(execution).error_code == -5
    assert handle.ended == "aborted"


def test_the_server_cancels_and_preempts_and_refuses(served):
    server, loop = served
    first, one = send(server, 1)
    second, two = send(server, 2)
    server.update()
    ended = result(one)
    assert (ended.error_code, first.ended) == (-1, "canceled")  # as joint_trajectory_controller preempts
    assert "cancelled due to new incoming action" in ended.error_string
    assert server._server.cancel_callback(second).name == "ACCEPT"
    second.is_cancel_requested = True  # rclpy does so then
    server.update()
    assert (result(two).error_code, second.ended) == (0, "canceled")
    assert send(server, 3, "bad") is None
    assert send(server, 4, "many") is None
    assert send(server, 5, path=[("elbow", 1.0)]) is None
    assert loop.counts == ["trajectory refused"] * 3
    for loop.problem, said in (("", "too fast"), ("position jumped: hold", "position jumped: hold")):
        fourth, four = send(server, 7)
        loop.scripts[-1].end("interrupted")
        server.update()
        assert (result(four).error_string, fourth.ended) == (f"interrupted: {said}", "aborted")
    third, three = send(server, 6)
    loop.scripts[-1].end("succeeded")
    server.update()
    assert (result(three).error_code, third.ended) == (0, "succeeded")


def cancel_all(server, handles):
    """As rclpy cancels all goals: the list shrinks while it is walked through. Those that are cancelled."""
    left = list(handles)
    for handle in left:
        if server._server.cancel_callback(handle).name == "ACCEPT":
            handle.is_cancel_requested = True
        else:
            left.remove(handle)
    return left


def test_a_request_to_cancel_all_goals_stops_the_arm(served):
    """Also right after one replaced another, and before rclpy has begun to execute it."""
    server, loop = served
    first, one = send(server, 1)
    second = accept(server, 2)
    assert cancel_all(server, [first, second]) == [first, second]
    assert loop.scripts[1].outcome == "held"
    two = server._server.execute_callback(second)  # it has its result at once: a node that ends runs no timer
    server.update()
    assert (result(one).error_code, first.ended) == (-1, "canceled")
    assert (result(two).error_code, second.ended) == (0, "canceled")


def test_a_client_that_does_not_get_the_answer_takes_no_result_from_the_next(served):
    """rclpy gives no handle then."""
    server, loop = served
    accept(server, 1)
    handle, execution = send(server, 2)
    server.update()
    assert handle.ended is None
    loop.scripts[1].end("succeeded")
    server.update()
    assert (result(execution).error_code, handle.ended) == (0, "succeeded")


def test_the_state_of_the_controller_and_the_reference_at_a_time(monkeypatch):
    """With a loop that follows a trajectory, and stand-ins for the messages and the node."""

    def message(**fields):
        points = {name: JointTrajectoryPoint() for name in ("reference", "feedback", "error", "output")}
        header = SimpleNamespace(stamp=None)
        return SimpleNamespace(header=header, **points, **fields, speed_scaling_factor=0.0)

    for name, kind in (("msg", "JointTrajectoryControllerState"), ("srv", "QueryTrajectoryState")):
        part = ModuleType(f"control_msgs.{name}")
        setattr(part, kind, message)
        monkeypatch.setitem(sys.modules, f"control_msgs.{name}", part)
    sent = []
    publisher = SimpleNamespace(publish=lambda it: sent.append(copy.deepcopy(it)), get_subscription_count=lambda: 1)
    node = SimpleNamespace(
        create_lifecycle_publisher=lambda *_: publisher, create_service=lambda kind, name, callback: callback
    )
    robot = rd.load_robot(arms.PRR)
    inner = ControlLoop(GravityCompensation(rd.create_dynamics("rnea", robot), 9.0, 3.0), np.full(3, 1e3))
    closed, listeners = [""], []

    def check_open():
        if closed[0]:
            raise NotReadyError(closed[0])

    loop = SimpleNamespace(
        robot=robot,
        listeners=listeners,
        onlookers=listeners,
        control=inner,
        references=SimpleNamespace(check_open=check_open),
    )
    module.show_state(node, loop)
    query = module.serve_query(node, loop)
    q = np.array([0.3, -0.2, 0.5])
    inner.update(10.0, 10.0, q, np.zeros(3))
    trajectory = rest_to_rest([q, q + [0.1, 0.2, -0.3]], [0.0, 2.0])
    inner.follow(trajectory)
    command = inner.update(10.01, 10.01, q + 1e-3, np.full(3, 0.01))
    clock = [5.0]
    monkeypatch.setattr(closed_loop, "perf_counter", lambda: clock[0])
    for clock[0] in (5.0, 5.0 + 0.9 * module.STATE_PERIOD, 5.0 + 1.1 * module.STATE_PERIOD):
        listeners[0]("stamp", command)
        inner.scale_speed(0.5)
    inner.scale_speed(1.0)
    # The second was too soon for another.
    assert [message.speed_scaling_factor for message in sent] == [1.0, 0.5]
    said = sent[0]
    assert said.joint_names == list(robot.joint_names)
    np.testing.assert_allclose(said.reference.positions, command.reference.q)
    np.testing.assert_allclose(said.feedback.positions, q + 1e-3)
    np.testing.assert_allclose(said.error.positions, command.reference.q - q - 1e-3)
    np.testing.assert_allclose(said.error.velocities, command.reference.qd - 0.01)
    np.testing.assert_allclose(said.output.effort, command.effort)
    for at in (10.01, 11.3, 12.0, 15.0):
        request = SimpleNamespace(time=SimpleNamespace(sec=int(at), nanosec=round(at % 1 * 1e9)))
        answer = query(request, SimpleNamespace())
        expected = trajectory.sample(min(at - 10.0, 2.0))
        assert answer.success
        assert answer.name == list(robot.joint_names)
        for given, wanted in zip((answer.position, answer.velocity), expected, strict=False):
            np.testing.assert_allclose(given, wanted, atol=1e-6)

    def asked_meanwhile(request):
        inner.core.request(request)
        inner.core.state.time[...] += 0.05  # the thread has taken a state

    inner.requester, request = asked_meanwhile, SimpleNamespace(time=SimpleNamespace(sec=11, nanosec=0))
    answer = query(request, SimpleNamespace())
    np.testing.assert_allclose(answer.position, trajectory.sample(1.0).q, atol=1e-6)
    inner.requester = None
    closed[0] = "the controller is inactive"
    answer = query(request, SimpleNamespace())
    assert (answer.success, answer.message) == (False, "the controller is inactive")


def test_the_server_outlives_its_controller(served):
    """What a cleanup interrupts gets its result afterwards; without a controller goals are refused."""
    server, loop = served
    assert not server.timer.runs
    handle, execution = send(server, 1)
    assert server.timer.runs
    loop.scripts[0].end("interrupted")  # by the cleanup
    loop.configured = False
    server.update()
    assert (result(execution).error_code, handle.ended) == (-1, "aborted")
    assert not server.timer.runs
    assert send(server, 2) is None
    assert loop.counts == ["trajectory refused"]
    loop.configured = True
    assert send(server, 3) is not None


def test_without_control_msgs_there_is_no_action():
    assert is_available() == (find_spec("control_msgs") is not None)
