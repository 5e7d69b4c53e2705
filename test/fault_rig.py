# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller, and a driver that feeds it states and can be made to fail: both over real DDS, on a graph of their own.

The driver moves nothing: the arm stands in one pose, and says that it drifts, slower than noise may be. So the usual
command, the blind reaction (gravity alone) and the seeing one (gravity and damping) are three different efforts, known
beforehand, for a controller with :data:`EXACT`.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np
from ros_graph import DEADLINE, Graph
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import robodyn_ros as rd
from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.nodes.common.messages import NANO, seconds, stamp

NAMES = ["elevator", "shoulder", "wrist"]
POSE, DRIFT = np.array([0.5, -1.0, 0.25]), np.array([5e-4, 5e-3, -5e-3])
PERIOD = 0.005
STOOD = 80
"""States of an arm that counts as standing, which takes 0.3 s of them."""

FREQUENCY = 4.0
"""Natural frequency of the controllers [rad/s]: carried by states that a busy machine answers 20 ms late."""

EXACT = {"model_error": 0.0, "unknown_payload": 0.0}
"""The model weighs what the arm weighs, so nothing that the arm lacked is carried with it."""

NEAR = 4e-3
"""The seeing reaction may be that far away [N] and [N·m]: its gravity is that of states which are up to 40 ms old."""

TIMEOUT = 0.1
"""The controller's state_timeout [s]."""


class Rig:
    """See the module.

    Attributes:
        graph: where all runs.
        commands: receipt [s] and message of each command.
        change: changes the state that the driver is about to send; returns None to send nothing.
    """

    def __init__(self, graph: Graph, prr: str) -> None:
        """
        Args:
            graph: where the controller runs.
            prr: URDF of the arm.
        """
        self.graph = graph
        self.commands: list[tuple[float, JointState]] = []
        self.change: Callable[[JointState], JointState | None] = unchanged
        self._settled = np.inf  # when it answered as usual last [s]
        graph.node.create_subscription(JointState, "controller/joint_commands", self._keep, 100)
        self._publisher = graph.talk(JointState, "joint_states")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self._thread.start()
        dynamics = rd.create_dynamics("rnea", rd.load_robot(prr))
        self.blind = dynamics.gravity(POSE)
        rate = 2.0 * FREQUENCY  # 2ζω, with the default ζ
        self.damping = rate * np.diagonal(dynamics.mass_matrix(np.zeros(3)))
        self.damped = -self.damping * DRIFT
        self.mass_matrix = M = dynamics.mass_matrix(POSE)
        momentum = M @ DRIFT
        self.seeing = self.blind - self.damping @ DRIFT**2 / (DRIFT @ momentum) * momentum
        # Computed torque, held where it was found: no position error, and the drift is damped.
        self.usual = dynamics.inverse(POSE, DRIFT, np.zeros(3)) - M @ (rate * DRIFT)

    def close(self) -> None:
        """Stop the driver."""
        self._stop.set()
        self._thread.join()

    def until_blind(self, since: float) -> float:
        """Wait for the reaction without states: the weight of an arm that stood is carried."""
        return self.until("the blind reaction", self.blind, since)

    def until(
        self, what: str, effort: np.ndarray[Any, Any], since: float, deadline: float = DEADLINE, near: float = 1e-6
    ) -> float:
        """Wait for a command with an effort, or near it [N·m] or [N]; when it came, after ``since`` [s]."""
        found: list[float] = []
        seen = len(self.commands) - len(self.since(since))

        def came() -> bool:
            nonlocal seen
            new = self.commands[seen:]
            seen += len(new)
            found.extend(when for when, message in new if np.allclose(message.effort, effort, atol=near))
            return bool(found)

        try:
            self.graph.wait(came, f"{what}: {effort}", deadline)
        except AssertionError as problem:
            sent = [(round(when - since, 3), *message.effort) for when, message in self.since(since)]
            raise AssertionError(f"{what} was not sent, but (time, efforts) {sent[-5:]}") from problem
        return found[0] - since

    def as_usual(self) -> None:
        """Wait until the controller answers as usual and without a fault, so long that the arm counts as standing.

        Where it has answered as usual ever since it did so, nothing is waited for but what diagnostics say.
        """
        since = [message.effort for _, message in self.since(self._settled)]
        if self.change is not unchanged or self._settled == np.inf or (since and not np.allclose(since, self.usual)):
            self.change = unchanged
            begin = time.monotonic()
            self.until("the usual command", self.usual, begin)
            self.graph.wait(lambda: np.ptp(self.stamps(begin)[-STOOD:]) > STOOD * 0.9 * PERIOD, "an arm that stood")
        self.graph.wait(lambda: self.graph.diagnostics("controller")["message"].startswith("hold"), "no fault any more")
        self._settled = time.monotonic()

    def set(self, **parameters: Any) -> None:
        """Set parameters of the controller; it answers as usual only once it has taken states with them."""
        assert self.graph.set("controller", **parameters)[0].successful
        self._settled = np.inf

    def acknowledge(self) -> None:
        """Have the controller forget the faults that were, so that the next one is none that comes back."""
        assert self.graph.call(Trigger, "controller/hold").success

    def count(self, kind: str) -> int:
        """How often a fault was counted."""
        return self.graph.count("controller", kind)

    @contextmanager
    def fault(self, kind: str) -> Iterator[float]:
        """A fault of that kind is injected inside, at the time given; it must be counted, and pass without a trace.

        What was injected before is acknowledged, so that it does not count as the same fault again.
        """
        self.as_usual()
        self.acknowledge()
        self.until("the first command after that", self.usual, time.monotonic())  # its state is the one to compare with
        before = self.count(kind)
        yield time.monotonic()
        self.graph.wait(lambda: self.count(kind) > before, f"{kind} to be counted")
        self.as_usual()

    def _breaks(self) -> list[str]:
        """How often the machine itself took a break, so that the states broke off or were too rare for the gains."""
        said = self.graph.diagnostics("controller")
        return [said.get(name, "0") for name in ("restarts", FAULTS["rate"].words)]

    @contextmanager
    def undisturbed(self) -> Iterator[float]:
        """Whatever happens inside, from the time given on, every command is the usual one."""
        self.as_usual()
        before, begin = self._breaks(), time.monotonic()
        yield begin
        self.graph.wait(lambda: len(self.stamps(begin)) > 5, "commands")
        efforts = np.array([message.effort for _, message in self.since(begin)])
        if self._breaks() == before:
            np.testing.assert_allclose(efforts, np.tile(self.usual, (len(efforts), 1)), atol=1e-6)

    @contextmanager
    def payload(self, mass: float) -> Iterator[None]:
        """The hand holds a payload inside."""
        try:
            for result in self.graph.set("controller", payload__mass=mass):
                assert result.successful, result.reason
            yield
        finally:
            for result in self.graph.set("controller", payload__mass=0.0):
                assert result.successful, result.reason

    def stamps(self, since: float) -> list[float]:
        """Stamps of the commands that came after a time [s]."""
        return [seconds(message.header.stamp) for _, message in self.since(since)]

    def since(self, since: float) -> list[tuple[float, JointState]]:
        """The commands that came after a time [s], with when they came."""
        return self.commands[bisect_right(self.commands, since, key=itemgetter(0)) :]

    def _keep(self, message: JointState) -> None:
        self.commands.append((time.monotonic(), message))

    def _drive(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            message = JointState(name=list(NAMES), position=POSE.tolist(), velocity=DRIFT.tolist())
            message.header.stamp = stamp(self.graph.node.get_clock().now().nanoseconds)
            changed = self.change(message)
            if changed is not None:
                self._publisher.publish(changed)
            due = max(due + PERIOD, time.monotonic() - PERIOD)
            self._stop.wait(max(0.0, due - time.monotonic()))


def unchanged(message: JointState) -> JointState:
    """The state of the arm."""
    return message


def older(message: JointState, age: float) -> JointState:
    """The same, as measured earlier [s]."""
    message.header.stamp = stamp(round((seconds(message.header.stamp) - age) * NANO))
    return message
