# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator's topics: commands in, joint states and ``/clock`` out; and the joints that it holds.

The parameter ``joints`` omits the held joints. They hold any load, or go to the goals of ``locked_joints`` at their
greatest speed: the fingers of a gripper, whose own controller is not simulated. Their load moves with them, in the
plant's model too.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import locked_parameters
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.client_library import NEWEST, RECORDED, RELIABLE
from robodyn_ros.nodes.common.messages import NANO, JointOrder, values_of
from robodyn_ros.nodes.simulator.pace import Lockstep
from robodyn_ros.robot import Array, LockedJoints
from robodyn_ros.simulation.devices import SensorReading
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.plant.external_forces import ExternalForces

SPEED = 1.0
"""Speed of a joint whose URDF names no limit [rad/s] or [m/s]."""


class OtherJointsError(InputError):
    """A command for other joints than the simulator moves; the remedy is the same for all later ones."""

    def __init__(self, given: int, joints: Sequence[str]) -> None:
        problem = f"have {given} values, and the simulator moves {len(joints)} joints ({', '.join(joints)})"
        super().__init__("commands", f"{problem}: give controller and simulator the same parameter joints", given)


class CommandInput:
    """Subscribes to ``commands`` and ``joint_commands``; a command is accepted or refused, and both are counted.

    In lockstep only the answer to a state is a command.

    Attributes:
        accepted: number of accepted commands.
    """

    def __init__(self, node: Node, hardware: Hardware, joints: Sequence[str], lockstep: Lockstep | None) -> None:
        """
        Args:
            node: the subscriber, which counts refused commands as faults.
            hardware: gets the commands.
            joints: names of the arm's joints, in the order of ``commands``.
            lockstep: waits for answers; None in real time.
        """
        arm = hardware.plant.dynamics.robot.joint_names
        self.accepted = 0
        self._order = np.array([list(joints).index(name) for name in arm], dtype=np.intp)
        self._joints = tuple(joints)
        self._names = JointOrder(arm)
        self._hardware, self._faults = hardware, node.faults
        self._last: float | None  # time at which the latest command was accepted [s]
        self.restart()
        self._lockstep = lockstep
        node.create_subscription(Float64MultiArray, "commands", self._on_commands, NEWEST)
        node.create_subscription(JointState, "joint_commands", self._on_joint_commands, NEWEST)

    def _on_commands(self, message: Float64MultiArray) -> None:
        def effort() -> Array:
            if self._lockstep:
                raise InputError("commands", "have no stamp; in lockstep a command needs one, on joint_commands")
            if len(message.data) != len(self._order):
                raise OtherJointsError(len(message.data), self._joints)
            return np.array(message.data)[self._order]

        self._try(effort)

    def _on_joint_commands(self, message: JointState) -> None:
        when = message.header.stamp
        if self._lockstep and not self._lockstep.is_answer(when.sec * NANO + when.nanosec):
            return
        if self._try(lambda: self._names.effort(message)) and self._lockstep:
            self._lockstep.answered()

    def _try(self, effort: Callable[[], Array]) -> bool:
        """Accept a command or refuse it; True if it was accepted."""
        try:
            self._hardware.command(effort())
        except RobodynError as problem:
            self._faults.count("command refused", problem, once=isinstance(problem, OtherJointsError))
            return False
        self.accepted += 1
        self._note_gap()
        self._last = self._hardware.time
        return True

    def restart(self) -> None:
        """Begin anew at time 0, without a command so far."""
        self._last, self._gap = None, 0.0

    def take_gap(self) -> float:
        """The longest simulated time without a new command since the last call, from the first command on [s]."""
        self._note_gap()
        gap, self._gap = self._gap, 0.0
        return gap

    def _note_gap(self) -> None:
        if self._last is not None:
            self._gap = max(self._gap, self._hardware.time - self._last)


class WrenchInput:
    """Subscribes to ``~/apply_wrench``: a push at the origin of the link that ``frame_id`` names, in its axes.

    A push ends after a time without another one, so that a lost message does not make it permanent.
    """

    def __init__(self, node: Node, outside: ExternalForces, tip: str, period: float) -> None:
        """
        Args:
            node: the subscriber, which counts refused pushes as faults.
            outside: applies the push.
            tip: name of the link that is pushed if ``frame_id`` is empty.
            period: time that a push lasts [s], by the simulator's clock.
        """
        self._outside, self._tip, self._period, self._faults = outside, tip, period, node.faults
        self._now, self._until = 0.0, np.inf
        node.create_subscription(WrenchStamped, "~/apply_wrench", self._on_wrench, RELIABLE)

    def expire(self, now: float) -> None:
        """End a push whose time is over.

        Args:
            now: simulated time [s].
        """
        self._until += min(now - self._now, 0.0)  # after a reset
        self._now = now
        if now >= self._until:
            self._until = np.inf
            self._outside.release()

    def _on_wrench(self, message: WrenchStamped) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        with self._faults.counting("wrench refused"):
            self._outside.release()
            push = (force.x, force.y, force.z), (torque.x, torque.y, torque.z)
            self._outside.push(message.header.frame_id or self._tip, *push)
            self._until = self._now + self._period


class SimulatorOutput:
    """Publishes ``joint_states`` and ``/clock``.

    The stamp of a state is the time of its measurement, even if it is published late.

    Attributes:
        states: number of published states.
        waiting: readings that have come and are not published yet, the earliest first.
    """

    def __init__(self, node: Node, joints: Sequence[str], held: HeldJoints, step: float) -> None:
        """
        Args:
            node: the publisher.
            joints: names, in the order of the readings.
            held: joints that are held, which come after the others.
            step: duration of a step of the plant [s].
        """
        self._node, self._held = node, held
        self.states = 0
        self.waiting: deque[SensorReading] = deque()
        self._step = step
        self._state_publisher = node.create_publisher(JointState, "joint_states", RECORDED)
        self._clock_publisher = node.create_publisher(Clock, "/clock", RELIABLE)
        self._state, self._clock = JointState(name=[*joints, *held.names]), Clock()  # filled anew for each message

    def clock_conflict(self) -> str:
        """Warning about other publishers of the clock, with the remedy; "" without others."""
        topic = self._clock_publisher.topic_name
        infos = self._node.get_publishers_info_by_topic(topic)
        if len(infos) < 2:
            return ""
        nodes = sorted(f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in infos)
        remedy = "each arm a namespace and clock (namespace:= of the launch files, or -r __ns:=/left -r /clock:=clock)"
        problem = f"{len(nodes)} publishers, {' and '.join(nodes)}: time jumps for all subscribers"
        return f"{topic} has {problem}; give {remedy}"

    def publish_clock(self, steps: int) -> None:
        """Publish the time, counted in steps."""
        time = self._clock.clock
        time.sec, time.nanosec = divmod(self._nanoseconds(steps), NANO)
        self._clock_publisher.publish(self._clock)

    def publish_state(self) -> int:
        """Publish the next reading, and return its stamp [ns]."""
        reading, message = self.waiting.popleft(), self._state
        stamp, when = message.header.stamp, self._nanoseconds(reading.step)
        stamp.sec, stamp.nanosec = divmod(when, NANO)
        held = self._held
        message.position = array("d", reading.q.tobytes() + held.q.tobytes())
        message.velocity = array("d", reading.qd.tobytes() + held.qd.tobytes())
        message.effort = array("d", reading.effort.tobytes() + bytes(held.q.nbytes))
        self._state_publisher.publish(message)
        self.states += 1
        return when

    def repeat(self, steps: int) -> None:
        """Publish the time, counted in steps, and the latest state once more."""
        self.publish_clock(steps)
        self._state_publisher.publish(self._state)
        self.states += 1

    def _nanoseconds(self, steps: int) -> int:
        return round(steps * self._step * NANO)


class HeldJoints:
    """The joints that are held, and their goals.

    Attributes:
        names: of the k held joints.
        q: their positions (k,) in [rad] or [m].
        qd: their velocities (k,) in [rad/s] or [m/s].
    """

    def __init__(self, node: Node, joints: LockedJoints, start: Array) -> None:
        """
        Args:
            node: the subscriber, which counts refused goals as faults.
            joints: those that are held.
            start: their initial positions (k,) in [rad] or [m].
        """
        self.names = joints.names
        self._joints, self._start, self._faults = joints, start.copy(), node.faults
        every = {joint.name: joint for joint in joints.whole.joints}
        own = [every[name] for name in joints.names]
        self._speed = np.array([joint.velocity if np.isfinite(joint.velocity) else SPEED for joint in own])
        self._lower, self._upper = (np.array([getattr(joint, side) for joint in own]) for side in ("lower", "upper"))
        self.q, self.qd, self._goal = start.copy(), np.zeros(len(start)), start.copy()
        if self.names:
            node.create_subscription(JointState, "locked_joints", self._on_goal, NEWEST)

    def reset(self, dynamics: Dynamics) -> None:
        """Go back to the initial positions at once, and update the model of the plant."""
        before, self.q = self.q, self._start.copy()
        self.qd, self._goal = np.zeros(len(self._start)), self._start.copy()
        self._tell(dynamics, before)

    def advance(self, duration: float, dynamics: Dynamics) -> None:
        """Move for a duration [s], and update the model of the plant."""
        step = np.clip(self._goal - self.q, -self._speed * duration, self._speed * duration)
        self.qd = step / duration
        before, self.q = self.q, self.q + step
        self._tell(dynamics, before)

    def _tell(self, dynamics: Dynamics, before: Array) -> None:
        """Update the positions of the joints in the model, ``before`` (k,) until now."""
        if (self.q != before).any():
            change = locked_parameters(self._joints, self.q) - locked_parameters(self._joints, before)
            dynamics.configure(inertial=dynamics.parameters.inertial + change)

    def _on_goal(self, message: JointState) -> None:
        with self._faults.counting("goal of a locked joint refused"):
            self._goal = self._accepted(message)

    def _accepted(self, message: JointState) -> Array:
        goal: Array = self._goal.copy()
        for name, position in zip(message.name, values_of(message, "position").tolist(), strict=True):
            if name not in self.names:
                raise InputError("name", f"{name!r} is not locked; locked are {', '.join(self.names)}", name)
            index = self.names.index(name)
            if name in self._joints.carrying:
                raise InputError("name", f"{name!r} carries the arm and cannot move", name)
            if not self._lower[index] <= position <= self._upper[index]:
                limits = f"[{self._lower[index]:g}, {self._upper[index]:g}]"
                raise InputError("position", f"{position:g} of {name!r} must be within {limits}", position)
            goal[index] = position
        return goal
