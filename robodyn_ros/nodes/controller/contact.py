# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Topics of contacts: ``~/external_wrench``, ``~/external_efforts`` and ``~/tool_energy``; and the service ``~/tare``.

``~/tool_energy`` is the kinetic energy of the effective mass of the link in its direction of motion, which a person in
its path could receive, and that mass.

The wrench is about the origin of the link ``tool``, in its axes; ``header.frame_id`` names it. It has one of three
sources: the efforts that were sent, by the observer of the loop; the efforts in ``joint_states``, by an observer in
this module; or a force-torque sensor on ``~/force_torque``. With the last two this module also compares the thresholds
and reports contacts to the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, WrenchStamped
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from robodyn_ros.control import Command, Transmission
from robodyn_ros.control.contact import BEHIND, ContactSettings, contact_of
from robodyn_ros.control.momentum_observer import ForceTorqueSensor, MomentumObserver, wrench_at
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.client_library import NEWEST, RECORDED, steady_timer
from robodyn_ros.nodes.common.messages import JointOrder, decode, seconds, values_of
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.robot import Array, tip

REFRESH_PERIOD = 0.1  #: Time between two checks of which topics have subscribers [s].
SENSOR_PERIOD = 1.0  #: Time between two checks that the force-torque sensor is not silent [s].

ENERGY = MultiArrayLayout(dim=[MultiArrayDimension(label="energy [J], effective mass [kg]", size=2, stride=2)])
"""Layout of ``~/tool_energy``, with the meaning of its numbers."""

GAP = 0.1  #: Greatest time between two joint states of one period; after a longer time the observer begins anew [s].


class ContactTopics:
    """Publishes the external efforts and the external wrench of the arm."""

    def __init__(self, node: LifecycleNode, closed: ClosedLoop, transmission: Transmission) -> None:
        """RobodynError: a parameter is wrong."""
        self._closed, self._transmission = closed, transmission
        self._loop = loop = closed.control
        self._settings = settings = NodeParameters(node).settings(ContactSettings, "contact.")
        self._robot, self._order = loop.robot, JointOrder(loop.robot.joint_names)
        self._link = settings.link or tip(loop.robot)
        self._source = settings.effort_source if settings.observe != "nothing" else ""
        self._kinematics = Kinematics(loop.robot)
        self._wrenches: Any = node.create_lifecycle_publisher(WrenchStamped, "~/external_wrench", RECORDED)
        self._efforts: Any = node.create_lifecycle_publisher(JointState, "~/external_efforts", RECORDED)
        self._energies: Any = node.create_lifecycle_publisher(Float64MultiArray, "~/tool_energy", RECORDED)
        node.create_subscription(WrenchStamped, "~/force_torque", self._on_sensor, NEWEST, raw=True)
        self._observer: MomentumObserver | None = None
        self._sensor = ForceTorqueSensor(settings.sensor_load[0], settings.sensor_load[1:])
        self._sensed = False
        self._silent = 0  # checks in succession without a message of the sensor
        self._seen = 0.0  # stamp of the latest state at the last of them [s]
        if self._source == "sensor":
            steady_timer(node, SENSOR_PERIOD, self._watch_sensor)
        self._last: tuple[float, Array] | None = None  # time and efforts of the last measured state
        self._parameters, self._contact = NodeParameters(node), loop.settings.contact
        if self._source in ("measured", BEHIND):
            contact = contact_of(self._parameters, loop.dynamics)
            self._observer = None if contact is None else contact.observer
            node.create_subscription(JointState, "joint_states", self._on_state, NEWEST, raw=True)
        self._listens = False
        if self._source == "commanded" or settings.observe == "tool":
            steady_timer(node, REFRESH_PERIOD, self._refresh)

    def tare(self) -> str:
        """Zero the estimate of the external efforts; the result is a message. NotReadyError: there is none."""
        if not self._source:
            raise NotReadyError("contacts are not observed: set the parameter contact.observe")
        if self._source == "sensor":
            if not self._sensed:
                raise NotReadyError("no message has come on ~/force_torque")
            self._sensor.tare()
        elif self._observer is not None:
            if self._last is None:
                raise NotReadyError("no joint state with efforts has come: there is no estimate")
            self._observer.tare(self._observer.efforts.copy())
        else:
            self._loop.tare()
        return "the estimate of the external efforts was set to zero"

    def report(self) -> dict[str, object]:
        """Name with unit → value, for the diagnostics."""
        latest = self._closed.latest
        if self._settings.observe != "tool" or latest is None or latest[1].external is None:
            return {}
        energy, mass = latest[1].external[-2:]
        return {"tool energy [J]": energy, "tool effective mass [kg]": mass}

    def _refresh(self) -> None:
        """Listen to the loop while a topic has subscribers."""
        publishers = [self._wrenches, self._efforts] if self._source == "commanded" else []
        publishers += [self._energies] if self._settings.observe == "tool" else []
        wanted, listeners = any(publisher.get_subscription_count() for publisher in publishers), self._closed.listeners
        if wanted != self._listens:
            (listeners.append if wanted else listeners.remove)(self._on_command)
        self._listens = wanted

    def _on_command(self, stamp: Time, command: Command) -> None:
        if command.external is not None and command.state is not None:
            n = self._robot.n
            if self._source == "commanded":
                self._publish(stamp, command.state[0], command.external[:n], command.external[n : n + 6])
            if self._settings.observe == "tool" and self._energies.get_subscription_count():
                self._energies.publish(Float64MultiArray(layout=ENERGY, data=command.external[n + 6 :].tolist()))

    def _on_state(self, data: bytes) -> None:
        """Update the observer by the efforts that the drives have measured."""
        if (observer := self._present_observer()) is None:
            return
        try:
            measured = self._measured(data)
        except RobodynError as problem:
            self._closed.faults.count("contact not observed", f"contact.effort_source takes joint_states: {problem}")
            return
        if measured is None:
            return
        stamp, q, qd, efforts = measured
        t = seconds(stamp)
        last, self._last = self._last, (t, efforts)
        if last is not None and t == last[0]:
            return
        begins = last is None or not 0.0 < t - last[0] <= GAP
        mean = efforts if last is None else (efforts + last[1]) / 2.0  # the trapezoidal rule, as for the other efforts
        found = observer.update(-1.0 if begins or last is None else t - last[0], q, qd, mean)
        self._loop.judge_contact(observer.efforts, observer.wrench)
        self._publish(stamp, q, found[: self._robot.n], observer.wrench)

    def _present_observer(self) -> MomentumObserver | None:
        """The observer of measured efforts; other settings or another model get another one, which goes on from it."""
        observer, contact = self._observer, self._loop.settings.contact
        if observer is None or contact is None:
            return None
        if contact is not self._contact:
            self._contact, made = contact, contact_of(self._parameters, self._loop.dynamics)
            assert made is not None  # what is observed is fixed
            self._observer = made.observer
            made.observer.go_on_from(observer)
        return self._observer

    def _measured(self, data: bytes) -> tuple[Any, Array, Array, Array] | None:
        """Stamp, position, velocity and efforts of the joints, (n,), of a serialized JointState; None if it is about
        other joints. RobodynError: it lacks a joint, efforts or velocities, or has numbers that are not finite.
        """
        message = decode(data, JointState)
        state, columns = self._order.state(message), self._order.columns(message.name)
        if state is None:
            return None
        drives, effort = self._transmission, values_of(message, "effort")[columns]
        found = drives.joint_position(state[0]), drives.joint_velocity(state[1]), drives.joint_effort(effort)
        if not all(np.isfinite(each).all() for each in found):
            raise InputError("joint_states", "is not finite")
        return message.header.stamp, *found

    def _watch_sensor(self) -> None:
        """Count a sensor that is silent while states come: no contact is found then."""
        latest = self._closed.latest
        now = 0.0 if latest is None else seconds(latest[0])
        self._silent, self._seen = (0 if now == self._seen else self._silent + 1), now
        if self._silent > 1:
            self._closed.faults.count("contact not observed", "no usable message comes on ~/force_torque")

    def _on_sensor(self, data: bytes) -> None:
        """Use the wrench of a force-torque sensor in place of the observed one."""
        latest, is_observed = self._closed.latest, self._loop.settings.contact is not None
        if self._source != "sensor" or latest is None or latest[1].state is None or not is_observed:
            return
        q, kinematics = latest[1].state[0], self._kinematics
        try:
            message = decode(data, WrenchStamped)
            force, torque = message.wrench.force, message.wrench.torque
            frame = kinematics.pose(message.header.frame_id, q)
            measured = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
            own = self._sensor.external(measured, frame[:3, :3], np.asarray(self._loop.dynamics.parameters.gravity))
        except RobodynError as problem:  # of the message
            self._closed.faults.count("force-torque refused", problem)
            return
        self._sensed, self._silent = True, 0
        at_link = kinematics.pose(self._link, q).copy()
        at_link[:3, :3] = np.eye(3)  # the link's origin with the root link's axes
        wrench = wrench_at(np.linalg.inv(at_link) @ frame, own)
        self._loop.judge_contact(np.zeros(self._robot.n), wrench)
        self._publish(message.header.stamp, q, kinematics.jacobian(self._link, q).T @ wrench, wrench)

    def _publish(self, stamp: Time, q: Array, efforts: Array, wrench: Array) -> None:
        """Publish efforts (n,), and a wrench (6,) about the link's origin in the root link's axes."""
        if self._efforts.get_subscription_count():
            message = JointState(name=self._robot.joint_names, effort=efforts.tolist())
            message.header.stamp = stamp
            self._efforts.publish(message)
        if self._wrenches.get_subscription_count() and (self._settings.observe == "tool" or self._source == "sensor"):
            axes = self._kinematics.pose(self._link, q)[:3, :3].T
            told = WrenchStamped()
            told.header.stamp, told.header.frame_id = stamp, self._link
            told.wrench.force, told.wrench.torque = (
                Vector3(x=x, y=y, z=z) for x, y, z in ((axes @ part).tolist() for part in (wrench[:3], wrench[3:]))
            )
            self._wrenches.publish(told)
