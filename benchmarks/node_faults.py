# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults of docs/safety.md, injected into the running controller over DDS.

    make faults-node                             faults of states and drives that ``make faults`` has, too
    make faults-node BENCH=--around              faults around the loop: its graph, parameters, files and plugins

The controller is a process, with its graph, parameters and plugins; :mod:`node_cell` has the drives and the arm, a PRR
that swings.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from common import options, report
from drives import ROOT, Drives
from node_cell import (
    BREAKS,
    LASTS,
    PERIOD,
    PRR,
    START,
    SWING,
    Cell,
    Outcome,
    Scenario,
    Steps,
    inject,
    messages_of,
    motion_to,
    running_arm,
)

import robodyn_ros as rd

JOINT = 1
"""Seed by which the joint is drawn that a fault has."""

SILENCE = 1.6
"""How long nothing gets through; the blind answer, the ramp and silence follow within that [s]."""


def lasting(
    cell: Cell, duration: float = LASTS, each: Callable[[], None] = lambda: None
) -> Generator[None, None, None]:
    """Let a time pass [s], and do something in each period of it."""
    end = cell.now + duration
    while cell.now < end - PERIOD / 2:
        each()
        yield


def spoilt(change: Callable[[Any], list[Any]]) -> Callable[[Cell], Steps]:
    """States are changed for a while."""

    def inject(cell: Cell) -> Steps:
        cell.change = change
        yield from lasting(cell)
        return ""

    return inject


def sent(kind: str, topic: str, make: Callable[[Cell], Any], pause: float = 0.1) -> Callable[[Cell], Steps]:
    """A message comes again and again.

    Args:
        kind: its type, as package and name.
        topic: where it is sent.
        make: gives the message, or its bytes.
        pause: time between two [s].
    """

    def inject(cell: Cell) -> Steps:
        publisher, message = cell.talk(message_type(kind), topic), make(cell)
        cell.until(lambda: publisher.get_subscription_count() > 0, START, f"controller that reads {topic}")
        cell.watch()
        end = cell.now + LASTS
        while cell.now < end:
            publisher.publish(message)
            yield from lasting(cell, pause)
        return ""

    return inject


def message_type(name: str) -> Any:
    """The class of a message, from its package and name."""
    package, _, kind = name.partition("/")
    return getattr(import_module(f"{package}.msg"), kind)


def joint_state(cell: Drives, **fields: Any) -> Any:
    """A message on ~/reference for the wrist."""
    return message_type("sensor_msgs/JointState")(name=["wrist"], **fields)


def overflowing(cell: Drives) -> Any:
    """A trajectory of finite numbers whose coefficients are not."""
    message = motion_to(cell, cell.q, 0.5, velocities=[1e308, 0.0, 0.0])
    message.points.extend(motion_to(cell, cell.q, 1.0).points)
    return message


def long_trajectory(cell: Drives) -> bytes:
    """The bytes of a trajectory of 100,001 points."""
    from rclpy.serialization import serialize_message

    message = motion_to(cell, cell.q, 0.5)
    message.points *= 100_001
    return bytes(serialize_message(message))


def huge_state(state: Any) -> list[Any]:
    """A state of 2 MiB."""
    state.header.frame_id = "x" * 2**21
    return [state]


def bytes_of(change: Callable[[bytes], bytes]) -> Callable[[Any], list[Any]]:
    """The bytes of each state are changed."""
    from rclpy.serialization import serialize_message

    return lambda state: [change(bytes(serialize_message(state)))]


def other_joints(state: Any) -> list[Any]:
    """Another order, and a gripper between."""
    other = type(state)(header=state.header)
    for field in ("position", "velocity", "effort"):
        setattr(other, field, [*getattr(state, field)[:0:-1], 0.5, getattr(state, field)[0]])
    other.name = [*state.name[:0:-1], "gripper", state.name[0]]
    return [other]


def every(count: int) -> Callable[[Cell], Steps]:
    """Only one state in so many comes."""

    def inject(cell: Cell) -> Steps:
        cell.counts_overruns = True
        cell.watch()
        for number in range(round(LASTS / PERIOD)):
            cell.change = (lambda state: [state]) if number % count == 0 else (lambda state: [])
            yield
        return ""

    return inject


def reset(cell: Cell) -> Steps:
    """The simulation begins again, by its clock too."""
    cell.jump_to(cell.now - 500.0)
    cell.watch()
    yield from lasting(cell)
    return ""


def second_publisher(kind: str, topic: str, says: Callable[[Cell], Any] | None = None) -> Callable[[Cell], Steps]:
    """Another node publishes there, too."""

    def inject(cell: Cell) -> Steps:
        from rclpy.node import Node

        cell.talk(message_type(kind), topic) if topic == REFERENCES[1] else None
        other = Node("intruder", context=cell.node.context)
        publisher = other.create_publisher(message_type(kind), topic, 10)
        try:
            begin = cell.now
            while cell.now < begin + LASTS:
                if says is not None:
                    publisher.publish(says(cell))
                yield
        finally:
            other.destroy_node()
        return ""

    return inject


def elsewhere(cell: Cell) -> Any:
    """A state of another arm."""
    return cell.state(position=(cell.q + 0.3).tolist())


def plugin(name: str) -> Callable[[Cell], Steps]:
    """A plugin is asked for that cannot be made."""

    def inject(cell: Cell) -> Steps:
        cell.set(dynamics=name)
        end = cell.now + START
        while not cell.seen and cell.now < end:
            yield
        return ""

    return inject


def broken(name: str, act: Callable[[Cell], None] = lambda cell: None) -> Callable[[Cell], Steps]:
    """A function of the controller raises; ``act`` has it called, ten times a second."""

    def inject(cell: Cell) -> Steps:
        flag = Path(os.environ[BREAKS]) / name
        flag.touch()
        try:
            end = cell.now + LASTS
            while cell.now < end:
                act(cell)
                yield from lasting(cell, 0.1)
        finally:
            flag.unlink()
        return ""

    return inject


def stream_wrist(cell: Cell) -> None:
    """A reference for the wrist, where it is."""
    cell.swings = False
    cell.talk(message_type("sensor_msgs/JointState"), "controller/reference").publish(
        joint_state(cell, position=[float(cell.q[2])])
    )


def values(*sets: dict[str, Any], back: Mapping[str, Any] = MappingProxyType({})) -> Callable[[Cell], Steps]:
    """Sets of parameters, one after the other; those of ``back`` are set at the end."""

    def inject(cell: Cell) -> Steps:
        for given in sets:
            if not cell.set(**given):
                cell.note("accepted")
            yield from lasting(cell, 0.2)
        if back:
            cell.set(**back)
        return ""

    return inject


def values_all_the_time(cell: Cell) -> Steps:
    """A gain is set 250 times a second, and nobody waits for the answers."""
    from rcl_interfaces.srv import SetParameters

    client = cell.node.create_client(SetParameters, "controller/set_parameters")
    cell.until(client.service_is_ready, START, "service")
    begin, number = cell.now, 0
    while cell.now < begin + LASTS:
        number += 1
        given = messages_of({"gains__wrist__natural_frequency": 12.0 - 2.0 * (number % 2)})
        client.call_async(SetParameters.Request(parameters=given))
        yield
    cell.set(gains__wrist__natural_frequency=12.0)
    return ""


def pushed(*levels: float) -> Callable[[Cell], Steps]:
    """Somebody pushes the shoulder, with one effort after the other [N·m]."""

    def inject(cell: Cell) -> Steps:
        for level in levels:
            cell.outside[1] = level
            yield from lasting(cell, LASTS / len(levels))
        cell.outside[1] = 0.0
        return ""

    return inject


def felt(cell: Cell) -> Steps:
    """The force-torque sensor feels a force, though nobody pushes."""
    message, sensor = message_type("geometry_msgs/WrenchStamped")(), None
    message.header.frame_id = "tool"
    sensor = cell.talk(type(message), "controller/force_torque")
    for force in (0.0, 20.0, 0.0):
        message.wrench.force.x = force
        if force:
            cell.watch()
        end = cell.now + (LASTS if force else 0.3)
        while cell.now < end:
            sensor.publish(message)
            yield
    return ""


def disk(path: Callable[[Path], Path]) -> Callable[[Cell], Steps]:
    """What was learnt is to be saved where that is not possible."""

    def inject(cell: Cell) -> Steps:
        from std_srvs.srv import Trigger

        cell.set(estimates_file=str(path(Path(tempfile.mkdtemp(dir=os.environ[BREAKS])))))
        yield from lasting(cell, 0.3)
        if not cell.call(Trigger, "save_estimates").success:
            cell.note("refused")
        yield from lasting(cell)
        cell.set(estimates_file="")
        return ""

    return inject


def no_folder(folder: Path) -> Path:
    """A path in a folder that is a file."""
    (folder / "file").touch()
    return folder / "file" / "estimates.yaml"


def no_answer(folder: Path) -> Path:
    """A pipe that nobody writes to: whoever reads it waits."""
    os.mkfifo(folder / "estimates.yaml")
    return folder / "estimates.yaml"


def stream_that_stops(with_velocity: bool) -> Callable[[Cell], Steps]:
    """The wrist is led by a stream, which ends."""

    def inject(cell: Cell) -> Steps:
        cell.swings = False
        references = cell.talk(message_type("sensor_msgs/JointState"), "controller/reference")
        start, speed = cell.q.copy(), 0.4 * (1.0 if cell.q[2] < 0.0 else -1.0)
        begin = cell.now
        while cell.now < begin + 1.0:
            fields: dict[str, Any] = {"velocity": [speed]} if with_velocity else {}
            references.publish(joint_state(cell, position=[float(start[2] + speed * (cell.now - begin))], **fields))
            yield from lasting(cell, 0.02)
        cell.watch()
        while cell.now < begin + 1.0 + LASTS:
            if not cell.seen and cell.said == "hold":
                cell.note("hold")
            yield
        return ""

    return inject


def twist_of(cell: Cell, x: float = 0.0, z: float = 0.0, frame: str = "") -> None:
    """A twist for the tool is streamed [m/s]."""
    message = message_type("geometry_msgs/TwistStamped")()
    message.header.frame_id, message.twist.linear.x, message.twist.linear.z = frame, x, z
    cell.talk(type(message), "controller/target_twist").publish(message)


def twist_that_stops(cell: Cell) -> Steps:
    """The tool is led by a twist, which ends."""
    cell.swings = False
    cell.until(lambda: cell.said == "hold", SWING + 1.0)
    begin = cell.now
    while cell.now < begin + 1.0:
        twist_of(cell, z=0.1)
        yield from lasting(cell, 0.02)
    cell.watch()
    while cell.now < begin + 1.0 + LASTS:
        if not cell.seen and np.abs(cell.qd).max() < 1e-3:
            cell.note("at rest")
        yield
    return ""


def singular(cell: Cell) -> Steps:
    """A twist leads the tool beyond what the stretched arm reaches."""
    cell.swings = False
    cell.until(lambda: cell.said == "hold", SWING + 1.0)
    cell.watch()
    begin = cell.now
    while cell.now < begin + 3.0:
        twist_of(cell, x=0.4)
        yield from lasting(cell, 0.02)
    return ""


def pose_of(frame: str, z: float) -> Callable[[Cell], Any]:
    """A pose for the tool, in a frame, at a height [m]."""

    def make(cell: Cell) -> Any:
        message = message_type("geometry_msgs/PoseStamped")()
        message.header.frame_id, message.pose.position.z, message.pose.orientation.w = frame, z, 1.0
        return message

    return make


def twist(frame: str, x: float) -> Callable[[Cell], Any]:
    """A twist for the tool."""

    def make(cell: Cell) -> Any:
        message = message_type("geometry_msgs/TwistStamped")()
        message.header.frame_id, message.twist.linear.x = frame, x
        return message

    return make


def description(change: Callable[[str], str]) -> Callable[[Cell], Steps]:
    """Something comes on the topic of the description."""

    def inject(cell: Cell) -> Steps:
        text = message_type("std_msgs/String")
        cell.descriptions.publish(text(data=change(PRR)))
        yield from lasting(cell)
        cell.descriptions.publish(text(data=PRR))
        yield from lasting(cell, 0.3)
        return ""

    return inject


def started_with(urdf: str) -> Callable[[Cell], Steps]:
    """The controller is stopped, and started with a description that it cannot take; then with the right one."""

    def inject(cell: Cell) -> Steps:
        cell.stop()
        usual = cell._given
        cell.watch()
        cell.start({**usual, "robot_description": urdf})
        cell.gone()
        end = cell.now + START
        while not cell.ended() and cell.said != "unconfigured" and cell.now < end:
            yield
        cell.note("not configured")
        if not cell.ended():
            cell.stop()
        cell.start_again(usual)
        return "started with another"

    return inject


def killed(cell: Cell) -> Steps:
    """The controller is killed, and started again later."""
    cell.stop(signal.SIGKILL)
    while not cell.is_braked:
        yield
    cell.note("brakes")
    yield from lasting(cell)
    cell.start_again()
    return "started again"


def driver_killed(cell: Cell) -> Steps:
    """The driver is gone from the graph, and comes back."""
    from sensor_msgs.msg import JointState

    cell.node.destroy_publisher(cell.states_topic)
    cell.change, cell.hears = (lambda state: []), False
    yield from lasting(cell, SILENCE)
    cell.states_topic = cell.node.create_publisher(JointState, "joint_states", 10)
    cell.hears = True
    return ""


def cut(cell: Cell) -> Steps:
    """Nothing gets through, either way."""
    cell.change, cell.hears = (lambda state: []), False
    yield from lasting(cell, SILENCE)
    cell.hears = True
    return ""


def nothing(cell: Cell) -> Steps:
    """Time passes; what is wrong is a parameter."""
    yield from lasting(cell)
    return ""


def parted(act: Callable[[Cell], None], back: Callable[[Cell], None], way: str) -> Callable[[Cell], Steps]:
    """The controller is told to end its commands, and later to go on."""

    def inject(cell: Cell) -> Steps:
        cell.expected = False
        act(cell)
        while not cell.is_braked:
            yield
        cell.note("parts", max(cell.latest, cell.begin))
        yield from lasting(cell)
        back(cell)
        return way

    return inject


def enable(on: bool) -> Callable[[Cell], None]:
    """The service of that name."""

    def act(cell: Cell) -> None:
        from std_srvs.srv import SetBool

        cell.call(SetBool, "enable", data=on)

    return act


def transition(identity: int) -> Callable[[Cell], None]:
    """A transition of the life cycle."""

    def act(cell: Cell) -> None:
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        cell.call(ChangeState, "change_state", transition=Transition(id=identity))

    return act


DEACTIVATE, ACTIVATE = 4, 3
"""Transitions, as lifecycle_msgs numbers them."""

NO_LIMITS = PRR.replace(' effort="36"', "")
NOT_A_NUMBER = PRR.replace('mass value="6"', 'mass value="nan"')
CONTACT = {"contact.observe": "tool"}
TOUCH, COLLISION = {"contact__shoulder__touch": 10.0}, {"contact__shoulder__collision": 25.0}
NO_CONTACT = {"contact__shoulder__touch": 0.0, "contact__shoulder__collision": 0.0, "contact__energy": 0.0}
REFERENCES = ("sensor_msgs/JointState", "controller/reference")
TRAJECTORIES = ("trajectory_msgs/JointTrajectory", "controller/joint_trajectory")
POSES = ("geometry_msgs/PoseStamped", "controller/goal_pose")
TWISTS = ("geometry_msgs/TwistStamped", "controller/target_twist")

IMPOSSIBLE = "a reference outside position or velocity limits, not finite, of unknown joints"
LONG = (
    "a message too long to take in: a trajectory of more than 100,000 points, a state, reference or pose of more "
    "than 1 MiB"
)
CONFLICT = "a publisher conflict: a second publisher of states, commands or references"
PLUGIN = "a plugin that contradicts itself, crashes or hangs when it is created"
POSE = "a target pose out of reach, in an unknown frame, or no pose"
STREAMED = "a streamed pose, twist, wrench or stiffness in an unknown frame, or no numbers"
MALFORMED = (
    "a malformed encapsulation: a message shorter than its header, or with more padding than bytes, on any topic"
)
UNFORESEEN = "an unforeseen exception in a callback"
WEAK = "a model that cannot hold the pose: gravity, payload, effort or rate limits"
PARTED = "the controller is stopped, deactivated or disabled"
DISK = "the disk of `estimates_file` is slow, full, or does not answer"
FELT = "a force-torque sensor, or measured efforts, feel a contact"

SCENARIOS = (
    Scenario("other joints, another order", spoilt(other_joints)),
    Scenario("the simulation is reset", reset),
    Scenario("a second source of states", second_publisher("sensor_msgs/JointState", "joint_states", elsewhere)),
    Scenario(CONFLICT, second_publisher("sensor_msgs/JointState", "joint_states"), "of states, silent"),
    Scenario(CONFLICT, second_publisher("std_msgs/Float64MultiArray", "controller/commands"), "of commands"),
    Scenario(CONFLICT, second_publisher("sensor_msgs/JointState", "controller/reference"), "of references"),
    Scenario(PLUGIN, plugin("stillborn"), "raises"),
    Scenario(PLUGIN, plugin("liar"), "contradicts itself"),
    Scenario("an overrun of the period", every(8), "a state every 32 ms"),
    Scenario(IMPOSSIBLE, sent(*REFERENCES, lambda cell: joint_state(cell, position=[np.nan])), "streamed, NaN"),
    Scenario(IMPOSSIBLE, sent(*REFERENCES, lambda cell: joint_state(cell, position=[3.0])), "streamed, outside"),
    Scenario(IMPOSSIBLE, sent(*TRAJECTORIES, lambda cell: motion_to(cell, [9.0, 0.0, 0.0], 1.0)), "a trajectory"),
    Scenario("a trajectory of finite numbers that overflow", sent(*TRAJECTORIES, overflowing)),
    Scenario(LONG, sent(*TRAJECTORIES, long_trajectory, 0.5), "100,001 points"),
    Scenario(LONG, spoilt(huge_state), "every state of 2 MiB"),
    Scenario(UNFORESEEN, broken("track", stream_wrist), "of a subscription", {"dynamics": "breaking"}),
    Scenario(UNFORESEEN, broken("update"), "of the states", {"dynamics": "breaking"}),
    Scenario("something touches the arm", pushed(18.0), "18 N·m on the shoulder", CONTACT, TOUCH),
    Scenario("the arm collides", pushed(40.0), "40 N·m on the shoulder", CONTACT, COLLISION),
    Scenario(
        "a touch becomes a collision, and a touch again", pushed(18.0, 40.0, 18.0), "", CONTACT, TOUCH | COLLISION
    ),
    Scenario("the tool has too much energy", nothing, "1 J", CONTACT, {"contact__energy": 1.0}),
    Scenario(
        FELT, felt, "a sensor", CONTACT | {"contact.effort_source": "sensor", "contact.touch_wrench": [10.0, 0.0]}
    ),
    Scenario(FELT, pushed(18.0), "measured efforts", CONTACT | {"contact.effort_source": "measured"}, TOUCH),
    Scenario(WEAK, values({"gravity": [0.0, 0.0, -1e4]}), "gravity"),
    Scenario(
        WEAK,
        values({"payload__mass": 1e6}, back={"payload__mass": 0.0}),
        "a payload of 1000 t",
    ),
    Scenario(WEAK, values({"effort_limits__elevator": 0.0}), "an effort limit of 0"),
    Scenario(WEAK, values({"effort_rate_limits__elevator": 1e-9}), "a rate limit of 1e-9"),
    Scenario(
        "gains that the measured rate does not carry", values({"gains__wrist__natural_frequency": 1000.0}), "1000 rad/s"
    ),
    Scenario(POSE, sent(*POSES, pose_of("base", 9.0), 0.5), "out of reach"),
    Scenario(POSE, sent(*POSES, pose_of("nowhere", 0.5), 0.5), "an unknown frame"),
    Scenario("bytes that are not a state", spoilt(bytes_of(lambda data: data[:30])), "cut off"),
    Scenario(MALFORMED, spoilt(lambda state: [b"\0\1\0\1"]), "every state"),
    Scenario(MALFORMED, sent(*TRAJECTORIES, lambda cell: b"\0\1\0\3"), "trajectories"),
    Scenario(DISK, disk(no_folder), "cannot be written", {"controller": "adaptive"}),
    Scenario(DISK, disk(no_answer), "does not answer", {"controller": "adaptive"}),
    Scenario("a description on the topic that is no XML: a path, a device", description(lambda text: "/dev/zero")),
    Scenario("a stream of positions without velocities stops", stream_that_stops(False)),
    Scenario("a stream of references stops", stream_that_stops(True)),
    Scenario("a stream of twists or wrenches for the tool stops", twist_that_stops),
    Scenario("a stream leads the tool through a singular pose, or where it cannot go", singular, "beyond its reach"),
    Scenario(STREAMED, sent(*TWISTS, twist("nowhere", 0.1)), "a twist, unknown frame"),
    Scenario(STREAMED, sent(*TWISTS, twist("", np.nan)), "a twist, NaN"),
    Scenario(
        "a parameter that is not finite, or out of range",
        values({"state_timeout": np.nan}, {"gravity": [0.0, 0.0, np.nan]}, {"adaptive__rate": -1.0}),
    ),
    Scenario("NaN or infinity in robot_description", started_with(NOT_A_NUMBER)),
    Scenario("a URDF without effort limits", started_with(NO_LIMITS)),
    Scenario(
        "the description changes while active",
        description(lambda text: text.replace('mass value="6"', 'mass value="7"')),
    ),
    Scenario("the driver (or simulator) is killed, and comes back", driver_killed),
    Scenario("the controller is killed", killed),
    Scenario("the network between two hosts is cut, and mended", cut),
    Scenario("parameters are set all the time", values_all_the_time, "250 times a second"),
    Scenario(PARTED, parted(enable(False), enable(True), "enabled"), "disabled"),
    Scenario(PARTED, parted(transition(DEACTIVATE), transition(ACTIVATE), "activated"), "deactivated"),
    Scenario(PARTED, parted(lambda cell: cell.stop(), Cell.start_again, "started again"), "stopped"),
)
"""Faults around the loop, in the order of the table."""


def of_states(fault: Any) -> Callable[[Cell], Steps]:
    """States are changed by a fault of :mod:`fault_kinds`."""

    def inject(cell: Cell) -> Steps:
        from fault_cell import State

        robot = rd.load_robot(ROOT / "urdf" / "prr.urdf")
        like: Any = SimpleNamespace(robot=robot, setup=SimpleNamespace(period=PERIOD), t=cell.now)
        change = fault.make(like, np.random.default_rng(JOINT))

        def changed(message: Any) -> list[Any]:
            like.t = cell.now
            states = change(like, State(cell.now, cell.q.copy(), cell.qd.copy()))
            return [cell.state(position=one.q.tolist(), velocity=one.qd.tolist()) for one in states]

        cell.change = changed
        yield from lasting(cell)
        return ""

    return inject


def of_a_drive(part: float) -> Callable[[Cell], Steps]:
    """The shoulder's drive gives a part of its effort."""

    def inject(cell: Cell) -> Steps:
        def weaken() -> None:
            cell.outside[1] = (part - 1.0) * cell.effort[1]

        yield from lasting(cell, each=weaken)
        return ""

    return inject


def campaign() -> list[Scenario]:
    """Faults of states and drives, as the campaigns against the loop have them."""
    from fault_kinds import FAULTS

    names = ("position jumps by 0.3", "velocities: sign", "velocities: zero", "velocities: three times")
    names += ("velocities: swapped", "stuck, live velocity: one", "encoder slips, 0.15 rad/s", "position 1e6")
    names += ("NaN", "positions in degrees", "no states")
    found = {fault.name: fault for fault in FAULTS}
    drives = {"effort: sign of one": -1.0, "drive is dead": 0.0, "half gain": 0.5}
    return [Scenario(name, of_states(found[name])) for name in names] + [
        Scenario(name, of_a_drive(part)) for name, part in drives.items()
    ]


def outcomes(scenarios: Iterable[Scenario] = SCENARIOS) -> Iterator[tuple[Scenario, Outcome]]:
    """Inject one fault after the other into a controller that runs, and is started newly where that is needed."""
    with running_arm() as cell:
        for scenario in scenarios:
            yield scenario, inject(cell, scenario)


def main() -> None:
    """Inject the faults, and print what became of them."""
    parser = options(__doc__)
    parser.add_argument("--around", action="store_true", help="faults around the loop")
    given = parser.parse_args()
    rows = []
    for scenario, found in outcomes(SCENARIOS if given.around else campaign()):
        name = f"{scenario.row}: {scenario.variant}" if scenario.variant else scenario.row
        rows.append(
            {
                "fault": name, "answer": found.answer, "after [ms]": 1e3 * found.detected, "speed": found.speed,
                "step": found.step, "stops": found.struck, "back": found.back,
            }
        )  # fmt: skip
        print(f"{name}: {found}", file=sys.stderr, flush=True)
    title = "Speeds in velocity limits, steps of the effort from one command to the next in effort limits"
    report({title: rows}, given.json)


if __name__ == "__main__":
    main()
