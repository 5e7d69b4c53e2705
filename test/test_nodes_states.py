# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the controller makes of states: good ones in any order, and none of the bad ones. The test is the arm here."""

import math
import time

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from changed_node import HEADING, changed, trace
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.serialization import serialize_message
from ros_graph import REALTIME, own_graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.nodes.common.messages import decode
from robodyn_ros.nodes.controller.cdr import StateReader

NAMES = ["elevator", "shoulder", "wrist"]
POSE = [0.5, -1.0, 0.25]
FREQUENCY = 1.0  # states carry it which come when the test can send them, and old ones [rad/s]


def gravity_load(q):
    """What holds the PRR arm at rest [N, N·m, N·m]; from the reference's formulas, section 1."""
    s2, s23 = math.sin(q[1]), math.sin(q[1] + q[2])
    hand = 6.0 * 0.14 * s23
    return 9.81 * np.array([20.0, -(1.0 * 0.25 + 6.0 * 0.5) * s2 - hand, -hand])


class Arm:
    """Sends states to a controller, and keeps the commands that come back."""

    def __init__(self, graph):
        self.graph, self.sent = graph, []
        self.commands = graph.listen(JointState, "controller/joint_commands", 100)
        self.publisher = graph.talk(JointState, "joint_states")
        graph.wait(lambda: graph.node.count_publishers("controller/joint_commands"), "the controller's commands")

    def state(self, name=NAMES, position=POSE, velocity=(0.0, 0.0, 0.0), age=0.0, stamped=True):
        """Publish a state of a certain age [s]; its stamp."""
        message = JointState(name=list(name), position=list(position), velocity=list(velocity))
        now = self.graph.node.get_clock().now().nanoseconds - round(age * 1e9)
        if stamped:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
            self.sent.append(message.header.stamp)
        self.publisher.publish(message)
        return message.header.stamp

    def answered(self, **fields):
        """Publish such a state until it is answered: the first ones may be lost while the topics connect."""
        count, sent = len(self.commands), []

        def answer():
            sent.append(self.state(**fields))
            return any(message.header.stamp in sent for message in self.commands[count:])

        self.graph.wait(answer, f"a command for {fields}")
        return self.commands[-1]

    def as_usual(self):
        """Publish states until the answer is the usual one: after a time without states the effort blends to it."""
        self.graph.wait(
            lambda: np.allclose(self.answered().effort, gravity_load(POSE), rtol=1e-11, atol=1e-12), "the usual command"
        )

    def refused(self, kind, **fields):
        """Publish such states until they are counted as a fault; there must not be a single command."""
        self.settle()
        count = len(self.commands)
        before = self.graph.count("controller", kind)
        for _ in range(3):
            self.state(**fields)
        self.graph.wait(lambda: self.graph.count("controller", kind) > before, f"{kind}: {fields}")
        assert len(self.commands) == count, f"a command for {fields}"

    def settle(self):
        """Wait for the last command that was asked for: one for a stamp of its own.

        A state that is lost, as when the controller exchanges its subscription, comes no more: a new one is sent.
        """
        wanted, due = self.state(), time.monotonic() + 1.0

        def there():
            nonlocal wanted, due
            if time.monotonic() > due:
                wanted, due = self.state(), time.monotonic() + 1.0
            return any(message.header.stamp == wanted for message in self.commands[-5:])

        self.graph.wait(there, "the answer to the latest state")


def reports_of_states(graph):
    """A function that returns the numbers of each report since now: a single one may be of a time without states."""
    messages = graph.listen(DiagnosticArray, "/diagnostics", 1000)

    def read():
        found = [status for message in messages for status in message.status if status.name == "/controller"]
        numbers = ("saturated [%]", "state age greatest [ms]", "latency from stamp p99 [ms]")
        return [{item.key: float(item.value) for item in status.values if item.key in numbers} for status in found]

    return read


@pytest.fixture(scope="module")
def shared(tmp_path_factory, prr):
    """An arm for the tests of single states, which leave it where it is."""
    with own_graph(tmp_path_factory.mktemp("states")) as graph:
        graph.frequency = FREQUENCY
        graph.start("controller", robot_description=prr, diagnostics_rate=50.0, state_timeout=2.0)
        yield Arm(graph)


@pytest.fixture
def arm(shared):
    """It answers as usual, whatever was before."""
    shared.as_usual()
    return shared


@pytest.fixture
def graph(graph):
    graph.frequency = FREQUENCY
    return graph


@pytest.fixture
def own_arm(graph, prr):
    graph.start("controller", robot_description=prr, diagnostics_rate=50.0, state_timeout=2.0)
    arm = Arm(graph)
    arm.answered()
    return arm


def test_a_state_without_a_stamp_counts_as_new(arm):
    def refused():
        found = arm.graph.diagnostics("controller")
        return [found.get(kind, "0") for kind in ("state too old", "state out of order")]

    def answered():
        arm.state(stamped=False)
        return any(message.header.stamp not in arm.sent for message in arm.commands[-20:])

    before = refused()
    arm.graph.wait(answered, "its command")
    assert refused() == before  # the command is no reaction to missing states


def test_the_age_of_a_state_is_reported(arm):
    reported = reports_of_states(arm.graph)

    def is_reported():
        arm.state(age=0.4)
        keys = "state age greatest [ms]", "latency from stamp p99 [ms]"
        return any(all(400.0 <= values.get(key, 0.0) < 2000.0 for key in keys) for values in reported())

    arm.graph.wait(is_reported, "the age")


def test_bad_states_get_no_command(arm):
    bad, worse = [0.5, math.nan, 0.25], [0.0, 0.0, -math.inf]
    arm.refused("state refused", position=bad)
    arm.refused("state refused", velocity=worse)
    arm.refused("state refused", position=POSE[:2])
    arm.refused("state refused", velocity=[])
    arm.refused("state refused", name=NAMES[:2], position=POSE[:2], velocity=[0.0, 0.0])
    arm.refused("state refused", name=["elevator", "shoulder", "shoulder"])
    arm.refused("state too old", age=2.5)
    arm.refused("state from the future", age=-2.5)
    np.testing.assert_allclose(arm.answered().effort, gravity_load(POSE), rtol=1e-10, atol=1e-12)


def test_bytes_that_are_no_state_are_refused(arm):
    """A publisher of the same type that sends garbage, stops in the middle, or pads with bytes that are not there."""
    whole = serialize_message(JointState(name=NAMES, position=POSE, velocity=[0.0] * 3))
    reader = StateReader(NAMES)
    reader.keep(decode(whole, JointState), whole)
    short = whole[:3] + b"\x03" + whole[4 : reader.layout.end]  # the padding would be a part of the last velocity
    padded = [b"\x00\x01\x00" + bytes([more, *range(less)]) for more in (1, 2, 3, 255) for less in range(more & 3)]
    reports = arm.graph.listen(DiagnosticArray, "/diagnostics")

    def counted(kind):
        values = (item.value for status in reports[-1].status for item in status.values if item.key == kind)
        return int(next(values, 0))

    def refused(publisher, data, kind):
        before = counted(kind)
        arm.graph.send(publisher, data, lambda: counted(kind) > before, f"{data!r} to be refused")
        later = len(reports) + 5  # by then all that was sent is counted
        arm.graph.wait(lambda: len(reports) >= later, "later reports")

    arm.graph.wait(lambda: reports, "diagnostics")
    for data in (short, whole[:40], b"\x00\x01\x00\x00" + b"\xff" * 60, b"\x00\x01", b"\x00\x01\x00\x00", *padded):
        refused(arm.publisher, data, "state refused")
    others = {
        "reference": (JointState, "reference refused"),
        "joint_trajectory": (JointTrajectory, "trajectory refused"),
        "goal_pose": (PoseStamped, "target refused"),
        "target_pose": (PoseStamped, "stream refused"),
    }
    for topic, (kind, count) in others.items():
        publisher = arm.graph.talk(kind, f"controller/{topic}")
        for data in (padded[0], padded[-1], whole[:20]):
            refused(publisher, data, count)
        arm.graph.node.destroy_publisher(publisher)
    arm.as_usual()


def test_the_way_from_a_state_to_its_command_passes_few_files(graph, prr):
    """A reader can follow it: twelve files at most, with what looks on. In lockstep, no state is late."""
    via = changed(trace, {"nodes.controller.realtime.periods:Periods.on_state": 30})
    _, controller = graph.start_arm(prr, lockstep=True, realtime="off", via=via)
    graph.wait(lambda: HEADING in controller.output, "the files of the thirtieth state")
    files = controller.output.partition(HEADING)[2].splitlines()[0].split()
    assert {f"nodes/controller/{name}.py" for name in ("states", "cdr", "realtime/runner")} <= set(files)
    assert len(files) <= 12, files


def test_states_of_other_joints_are_none_of_its_business(arm):
    arm.settle()
    count, refused = len(arm.commands), arm.graph.count("controller", "state refused")
    for _ in range(3):
        arm.state(name=["gripper"], position=[0.0], velocity=[0.0])
    arm.settle()
    assert len(arm.commands) == count + 1
    assert arm.graph.count("controller", "state refused") == refused


def test_states_of_more_joints_than_the_thread_reads_are_answered(own_arm):
    """A message that names 60 joints is read by Python: its layout has 65 parts, and the thread has room for 64."""

    def state(fingers):
        names = [*(f"finger_{index}" for index in range(fingers)), *NAMES]
        return {"name": names, "position": [0.0] * fingers + POSE, "velocity": [0.0] * len(names)}

    def is_read_by_python():
        own_arm.state(**state(57))
        return own_arm.graph.diagnostics("controller")["realtime"] in ("off", "off: joint states name too many joints")

    own_arm.answered(**state(56))
    said = own_arm.graph.diagnostics("controller")
    assert "too many" not in said["realtime"]
    assert "position jumped" not in said  # the thread reads the arm's joints behind the fingers
    own_arm.graph.wait(is_read_by_python, "a loop that Python calls")
    own_arm.settle()
    stamp = own_arm.state(**state(57))
    own_arm.graph.wait(lambda: own_arm.commands[-1].header.stamp == stamp, "its command")
    np.testing.assert_allclose(own_arm.commands[-1].effort, gravity_load(POSE), rtol=1e-10, atol=1e-12)


def test_efforts_are_clamped(graph, prr):
    limits = {"elevator": 150.0, "shoulder": 20.0}
    given = {"effort_limits": limits, "externally_supported": True, "state_timeout": 2.0}
    graph.start("controller", robot_description=prr, diagnostics_rate=50.0, **given)
    arm = Arm(graph)
    command = arm.answered()
    np.testing.assert_allclose(command.effort, [150.0, 20.0, gravity_load(POSE)[2]], rtol=1e-10, atol=1e-12)
    reported = reports_of_states(graph)

    def is_saturated():
        arm.state()
        return any(values.get("saturated [%]", 0.0) > 0.0 for values in reported())

    graph.wait(is_saturated, "saturation in a report")

    def warned():
        arm.state()
        said = graph.diagnostics("controller")
        return said["level"] == "1" and "limit, all the time: joint elevator" in said["message"]

    graph.wait(warned, "a warning of saturation that lasts")
    result = graph.set("controller", externally_supported=False)[0]
    assert not result.successful
    assert "150 N is below what holds the arm: gravity takes 196.2 N or more in every pose" in result.reason
    assert graph.set("controller", effort_limits__elevator=200.0, effort_limits__shoulder=96.0)[0].successful
    assert graph.set("controller", externally_supported=False)[0].successful


def test_disabled_it_sends_nothing_and_enabled_it_holds_where_the_arm_is(arm):
    elsewhere = [1.0, 0.5, -0.5]
    for where, count in ((elsewhere, 3), (POSE, 0)):
        assert arm.graph.call(SetBool, "controller/enable", data=False).success
        arm.graph.wait(lambda: arm.graph.diagnostics("controller")["message"] == "disabled", "it to be disabled")
        sent = [arm.state(position=where) for _ in range(count)]
        arm.graph.diagnostics("controller")
        arm.graph.diagnostics("controller")
        assert not [command for command in arm.commands if command.header.stamp in sent]  # the final one may come late
        assert arm.graph.call(SetBool, "controller/enable", data=True).success
        np.testing.assert_allclose(arm.answered(position=where).effort, gravity_load(where), rtol=1e-10, atol=1e-12)


def test_a_streamed_reference_leads_the_arm_until_it_dries_up(arm):
    publisher = arm.graph.talk(JointState, "controller/reference")
    push, rest = JointState(name=["wrist"], position=[POSE[2]], velocity=[0.0], effort=[3.0]), gravity_load(POSE)[2]

    def feeds():
        return arm.answered().effort[2] == pytest.approx(rest + 3.0)

    arm.graph.send(publisher, push, feeds, "the feed-forward effort of the reference")
    arm.graph.wait(lambda: arm.answered().effort[2] == pytest.approx(rest), "the end of the stream")
    arm.graph.node.destroy_publisher(publisher)


def test_a_stream_of_positions_alone_gets_its_velocities_from_the_stamps(own_arm):
    """The reference creeps away from an arm that stands still; when the stream falls silent, it stays where it is."""
    given = {"plausibility": False, "velocity_filter": 0.0, "stream.timeout": 10.0}
    assert all(result.successful for result in own_arm.graph.set("controller", **given))
    errors = own_arm.graph.listen(JointState, "controller/tracking_error", 100)
    publisher, sent = own_arm.graph.talk(JointState, "controller/reference"), []

    def push():
        sent.append(POSE[2] + 1e-4 * (len(sent) + 1))
        message = JointState(name=["wrist"], position=[sent[-1]])
        message.header.stamp.sec, message.header.stamp.nanosec = 7, 200_000 * len(sent)
        publisher.publish(message)
        own_arm.answered()
        return errors and errors[-1].velocity[2] == pytest.approx(0.5)

    own_arm.graph.wait(push, "a reference that moves at 0.5 rad/s")

    def stands():
        own_arm.answered()
        places = np.array(sent) - POSE[2]  # none of them where the arm is
        return errors[-1].velocity[2] == 0.0 and np.abs(places - errors[-1].position[2]).min() < 1e-12

    own_arm.graph.wait(stands, "a stream that stands still")


def test_commands_in_mit_mode_add_up_to_the_efforts_in_the_order_of_joints_and_in_the_turns_of_drives(graph, prr):
    turning = prr.replace('name="wrist" type="revolute"', 'name="wrist" type="continuous"')
    order, motor = ["wrist", "elevator", "shoulder"], {"gear_ratio": -20.0, "offset": 0.1, "torque_constant": 0.4}
    given = {"mit_limits": [40.0, 5.0], "plausibility": False, "transmission": {"shoulder": motor}}
    graph.start("controller", robot_description=turning, joints=order, state_timeout=2.0, **given)
    mit = graph.listen(Float64MultiArray, "controller/mit_commands", 100)
    arm = Arm(graph)
    measured = np.array([POSE[0], (POSE[1] - 0.1) * -20.0, POSE[2]])
    velocity = np.array([0.01, -0.4, 0.03])
    state = {"position": measured.tolist(), "velocity": velocity.tolist()}
    reference = graph.talk(JointState, "controller/reference")

    def moves():
        reference.publish(JointState(name=["shoulder"], position=[POSE[1] + 0.02], velocity=[0.3]))
        arm.answered(**state)
        # The velocity of the shoulder's motor, and its stiffness: 0 while the rate limit cuts the effort.
        return mit and mit[-1].data[11] == pytest.approx(-20.0 * 0.3) and mit[-1].data[12] > 0.0

    graph.wait(moves, "a command in MIT mode")
    message, columns = mit[-1], [NAMES.index(name) for name in order]
    assert [(one.label, one.size, one.stride) for one in message.layout.dim] == [
        ("joint", 3, 15), ("position velocity stiffness damping effort", 5, 5)
    ]  # fmt: skip
    position, speed, stiffness, damping, effort = np.array(message.data).reshape(3, 5).T
    total = effort + stiffness * (position - measured[columns]) + damping * (speed - velocity[columns])
    efforts = {tuple(np.round(command.effort, 7)) for command in arm.commands}
    assert tuple(np.round(total, 7)) in efforts
    assert position[2] == pytest.approx((POSE[1] + 0.02 - 0.1) * -20.0)
    assert stiffness[2] <= 40.0 / (0.4 * 20.0**2) * (1.0 + 1e-12)
    assert graph.diagnostics("controller")["realtime"].startswith("off" if REALTIME == "off" else "on")
    # A driver that was restarted counts from elsewhere; the loop goes on where it was.
    state["position"][2] = elsewhere = POSE[2] + 4.0 * math.pi

    def follows():
        return arm.answered(**state) and mit[-1].data[0] == pytest.approx(elsewhere)

    graph.wait(follows, "a command at the drive's own position")


def test_a_state_that_jumped_is_answered_by_the_command_before_it(arm):
    """Drives that brake without commands go on, and so does a simulator that waits for each answer."""
    arm.settle()
    before, count = arm.commands[-1], arm.graph.count("controller", "position jumped")
    jumped = arm.state(position=[POSE[0], POSE[1], POSE[2] + 0.2])
    arm.graph.wait(lambda: arm.commands[-1].header.stamp == jumped, "an answer to the state that jumped")
    assert arm.commands[-1].effort == before.effort
    arm.graph.wait(lambda: arm.graph.count("controller", "position jumped") == count + 1, "it to be counted")
    arm.settle()
    np.testing.assert_allclose(arm.commands[-1].effort, gravity_load(POSE), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("realtime", ["auto", "off"])
def test_in_simulated_time_a_stamp_from_afar_is_no_time(graph, prr, realtime):
    """The clock comes later than the states; but no state says that a thousand seconds have passed."""
    graph.start("controller", robot_description=prr, diagnostics_rate=50.0, use_sim_time=True, realtime=realtime)
    arm, clock, now = Arm(graph), graph.talk(Clock, "/clock"), 1000.0

    def state(when, after=0.0):
        clock.publish(Clock(clock=Time(sec=int(when), nanosec=round(when % 1 * 1e9))))
        message = JointState(name=NAMES, position=POSE, velocity=[0.0] * 3)
        stamp = when + after
        message.header.stamp = Time(sec=int(stamp), nanosec=round(stamp % 1 * 1e9))
        arm.publisher.publish(message)
        return message.header.stamp

    def answered():
        nonlocal now
        now += 0.01
        wanted = state(now)
        graph.wait(lambda: any(each.header.stamp == wanted for each in arm.commands[-5:]), "an answer")

    def first():
        nonlocal now
        now += 0.01
        state(now)
        return arm.commands

    graph.wait(first, "a first command")
    for _ in range(5):
        answered()

    def refused():
        return graph.count("controller", "state from the future")

    assert not refused()  # also where the first state came before the clock
    graph.wait(lambda: state(now, 1000.0) and refused(), "the refused state")
    for _ in range(5):
        answered()
    assert "states broke off" not in graph.diagnostics("controller")
