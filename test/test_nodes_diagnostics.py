# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller in lockstep: /diagnostics while faults last, of each class, and changes of law and model in motion.

The controller runs in this process, and the test is its time and its drives, so that nothing depends on the machine.
"""

import ctypes
import logging
import re
import time
from contextlib import suppress
from itertools import count
from types import SimpleNamespace

import life_cycles
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.time import Time
from sensor_msgs.msg import JointState

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.core_settings import RUN, array_at
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import RCLError
from robodyn_ros.nodes.common.diagnostics import RECENT, library_log
from robodyn_ros.plugins import load

LEVELS = {b"\x00": "OK", b"\x01": "WARN", b"\x02": "ERROR"}
STEP = 0.002
REST = np.array([0.5, -1.0, 0.25])
LONG = 1.25 * RECENT
"""How long each fault is made to last [s]."""


OFTEN = 0.0099
"""How often the level is looked at while a fault lasts: more often than it is ever published [s]."""

BEGINS = count(1000.0, 1000.0)
"""When each test begins [s]: what one has counted is not recent in the next."""


class Simulated:
    """The controller, its time and its drives; nothing happens unless a method is called."""

    def __init__(self, there):
        self.there, self.node, self.t = there, there.node, next(BEGINS)
        self.q, self.qd = REST.copy(), np.zeros(3)
        self.node.faults._clock = lambda: self.t
        self._statuses = []
        self.node._diagnostics._publisher = SimpleNamespace(publish=lambda m: self._statuses.append(m.status[0]))
        self.tick(0.0)
        there.change("configure", "activate")
        self.loop = self.node._configured.loop

    def tick(self, dt):
        self.t += dt
        self.node.get_clock().set_ros_time_override(
            Time(nanoseconds=round(self.t * 1e9), clock_type=self.node.get_clock().clock_type)
        )

    def state(self, dt=STEP):
        """Time goes on, and a state comes."""
        self.tick(dt)
        message = JointState(
            name=["elevator", "shoulder", "wrist"], position=self.q.tolist(), velocity=self.qd.tolist()
        )
        message.header.stamp = Time(nanoseconds=round(self.t * 1e9)).to_msg()
        self.loop._periods.on_state(bytes(serialize_message(message)))

    def drift(self):
        """A state of an arm that goes slowly there and back."""
        self.q = REST + np.array([0.02, 0.04, -0.05]) * np.sin(2.0 * self.t)
        self.qd = 2.0 * np.array([0.02, 0.04, -0.05]) * np.cos(2.0 * self.t)
        self.state()

    def nothing(self, dt=0.02):
        """Time goes on, and no state comes."""
        self.tick(dt)
        self.loop._watch()

    def level(self):
        """What /diagnostics says now: the level, and the text."""
        self.node._diagnostics.publish()
        status: DiagnosticStatus = self._statuses.pop()
        return LEVELS[status.level], status.message


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    folder, given = tmp_path_factory.mktemp("node"), {"contact.observe": "joints"}
    options = {"use_sim_time": True, "realtime": "off", "state_timeout": 0.1}
    with pytest.MonkeyPatch.context() as patch, life_cycles.running(folder, **options, **given) as there:
        patch.setattr(SafetySettings, "overrun", 10.0)  # however slow the machine is
        yield there


@pytest.fixture
def simulated(node):
    made = Simulated(node)
    yield made
    node.change("deactivate", "cleanup")


def test_states_that_broke_off_are_counted_once(simulated):
    on, counts = simulated, simulated.node.faults.counts
    for _ in range(100):
        on.state()
    before = counts["states broke off"]
    on.tick(0.3)  # three times state_timeout
    for _ in range(20):
        on.state()
    begun = time.monotonic()  # CLOCK_MONOTONIC is the runner's clock, too
    on.state()
    assert begun <= on.loop._periods.runner.last_state.received <= time.monotonic()
    assert on.loop.latest is not None  # this reads all periods so far
    assert (counts["states broke off"], on.loop.control.restarts) == (before + 1, 1)


def test_a_thread_that_does_not_respond_is_said_in_a_line(simulated, monkeypatch):
    """The state of the loop is unknown then; timers, services and the diagnostics ask for it."""
    on, said = simulated, []

    def ask(_request):
        raise NotReadyError("the thread does not respond")

    on.state()
    monkeypatch.setattr(on.node.faults, "_warn", said.append)
    with monkeypatch.context() as patch:
        patch.setattr(on.loop.control, "requester", ask)
        on.node.guarded(lambda: on.loop.law)()
        assert on.level() == ("ERROR", "the thread does not respond; not ready")
    assert said == ["not ready: the thread does not respond (seen 1 times)"]
    on.state()
    assert on.level()[0] == "WARN"  # of a moment ago


def test_the_command_that_answers_a_jump_is_counted(simulated):
    on, counts = simulated, simulated.node.faults.counts
    for _ in range(3):
        on.state()
    assert on.loop.latest is not None
    jumps, commands = counts["position jumped"], on.loop.statistics.commands
    on.q = REST + 0.5
    on.state()
    assert on.loop.latest is not None
    assert (counts["position jumped"], on.loop.statistics.commands) == (jumps + 1, commands + 1)


def test_what_is_compiled_and_what_could_not_be_is_told_in_the_log(capfd):
    """The warning raised an error in rclpy, and the node was not configured."""
    library, teller = logging.getLogger("robodyn_ros"), get_logger("teller")
    teller.set_level(LoggingSeverity.INFO)
    node = SimpleNamespace(get_logger=lambda: teller)
    with library_log(node):
        library.info("compiling gravity")
        library.warning("the compiler failed")
    told = capfd.readouterr().err
    assert re.search(r"\[INFO\].*compiling gravity\n.*\[WARN\].*the compiler failed", told)


def test_commands_that_the_middleware_refuses_are_counted_and_nothing_else(simulated, monkeypatch):
    on, counts = simulated, simulated.node.faults.counts

    def refuse(_data):
        raise RCLError("Failed to publish: cannot publish data")

    handle = SimpleNamespace(publish_raw=refuse)
    topic = SimpleNamespace(publisher=SimpleNamespace(handle=handle, get_subscription_count=lambda: 1))
    monkeypatch.setattr(on.loop._periods.runner, "_topics", [topic, topic])
    before = counts["message not published"]
    for _ in range(3):
        on.state()
    on.loop._watch()
    assert counts["message not published"] == before + 2 * 3
    assert on.loop.control.fault is None


def silence(on):
    return on.nothing


def contradiction(on):
    """The velocities have the wrong sign."""

    def step():
        on.qd = np.array([0.0, -1.0, 0.0])
        on.q[1] += STEP * np.cos(on.t)
        on.qd[1] = -np.cos(on.t)
        on.state()

    return step


def law(on):
    """The control step gives no finite numbers, whatever it is asked."""
    place = CODES["FLAGS"]

    def fail(arrays, constants):
        array_at(int(array_at(arrays, place + 1).view(np.int64)[place]), 1)[:] = 0.0

    settings, on.failing = on.loop.control.core_settings, RUN(fail)
    settings.record.fields.step_run[...] = ctypes.cast(on.failing, ctypes.c_void_p).value
    return on.state


def speed(on):
    """A joint swings at up to 1.3 times its limit; it is too fast most of the time, and its states are true."""
    limit, begin = on.loop.control.settings.limits.velocity[2], on.t

    def step():
        on.qd[2] = 1.3 * limit * np.cos(20.0 * (on.t - begin))
        on.q[2] = REST[2] + 1.3 * limit / 20.0 * np.sin(20.0 * (on.t - begin))
        on.state()

    return step


def publisher(on):
    on.loop.control.set_publisher_conflict("joint_states has 2 publishers, not 1")
    return on.state


def rate(on):
    return lambda: on.state(0.09)


def following(on, far=0.04):
    """Every reference is out of the arm's reach, and a new one comes as soon as it is taken."""

    def step():
        with suppress(NotReadyError):
            on.loop.control.track(Reference(REST + far, *np.zeros((3, 3))), on.t)
        on.state()

    return step


def contact(on):
    """Something holds the arm where it is, against the efforts that would bring it to a reference nearby."""
    return following(on, 0.02)


WAYS = {
    "states": (silence, {}),
    "sensor": (contradiction, {}),
    "law": (law, {"plausibility": False}),  # the arm stands, whatever it is commanded
    "speed": (speed, {"plausibility": False}),
    "publisher": (publisher, {}),
    "rate": (rate, {"gains.wrist.natural_frequency": 40.0}),
    "touch": (contact, {"plausibility": False, "contact.shoulder.touch": 0.5}),
    "collision": (contact, {"plausibility": False, "contact.shoulder.touch": 0.2, "contact.shoulder.collision": 0.5}),
    "following": (
        following,
        {
            "plausibility": False,
            "following_tolerance": 0.01,
            "gains.elevator.natural_frequency": 300.0,
            "gains.shoulder.natural_frequency": 300.0,
            "gains.wrist.natural_frequency": 300.0,
        },
    ),
}
"""Class of faults → how it is made to last, and the parameters for that."""


def test_every_class_is_here():
    assert set(WAYS) == set(FAULTS)


@pytest.mark.parametrize("kind", WAYS)
def test_the_level_stays_while_a_fault_lasts(simulated, kind, monkeypatch):
    on = simulated
    make, parameters = WAYS[kind]
    for _ in range(100):
        on.state()
    assert on.level()[0] == "OK", on.level()
    before = {name: on.node.get_parameter(name).value for name in parameters}
    results = on.node.set_parameters([Parameter(name, value=value) for name, value in parameters.items()])
    assert all(result.successful for result in results), results
    on.tick(0.0)
    fields = on.loop.control.core_settings.record.fields
    run, step = int(fields.step_run), make(on)
    deadline = on.t + 3.0
    while on.loop.control.fault is None:
        step()
        assert on.t < deadline, "the fault is not detected"
    assert on.loop.control.fault.kind == kind
    begin, looked, levels = on.t, 0.0, []
    while on.t - begin < LONG:
        step()
        # An arm that does not follow is asked again now and then.
        if on.loop.control.fault is not None and on.t - looked >= OFTEN:
            looked = on.t
            levels.append(on.level())
            assert levels[-1][0] == "ERROR" and FAULTS[kind].words in levels[-1][1], (on.t - begin, levels[-1])
    assert len(levels) > 100 or kind in ("states", "rate")
    assert len(levels) > 25
    fields.step_run[...] = run
    on.loop.control.set_publisher_conflict("")
    on.q, on.qd = on.q.copy(), np.zeros(3)
    for name, value in before.items():
        on.node.set_parameters([Parameter(name, value=value)])
    on.loop.hold()
    end = on.t + 3.0 + 3.0 * RECENT
    while on.level()[0] != "OK":
        for _ in range(round(OFTEN / STEP)):
            on.state()
            on.loop._watch()  # it says that states are missing, by the steady clock
        assert on.t < end, on.level()
    for _ in range(200):
        on.state()
    assert on.level() == ("OK", "hold")


def test_a_law_and_a_model_change_without_a_step(simulated):
    """While the arm moves; what a change makes of the efforts is spread over the blend time."""
    on, efforts = simulated, []
    on.loop.listeners.append(lambda stamp, command: efforts.append(command.effort.copy()))
    on.node.set_parameters([Parameter("plausibility", value=False)])
    try:
        for change in (
            {"controller": "gravity_compensation"},
            {"dynamics": "lagrangian"},
            {"controller": "computed_torque"},
        ):
            for _ in range(200):
                on.drift()
            ((name, value),) = change.items()
            assert on.node.set_parameters([Parameter(name, value=value)])[0].successful
            before = len(efforts)
            on.there.until(lambda value=value: value in on.node._configured.switching.running)
            for _ in range(200):  # twice the blend time
                on.drift()
            at_work = {"controller": on.loop.control.controller, "dynamics": on.loop.control.controller.dynamics}[name]
            assert isinstance(at_work, load({"controller": "controllers"}.get(name, name), value))
            # The change is spread over 100 steps, and meanwhile each law goes on as the arm does.
            found = np.array(efforts[before - 100 : before + 200])
            steps = np.abs(np.diff(found, axis=0))
            assert len(steps) == 299
            own = np.maximum(steps[:99].max(axis=0), steps[205:].max(axis=0))
            whole = np.abs(found[205] - found[99])
            assert (whole > 1.0).any() or name == "dynamics"
            assert (steps <= 0.01 * (whole + 105 * own) + own + 1e-9).all(), (value, steps.max(axis=0), whole, own)
    finally:
        on.node.set_parameters([Parameter("plausibility", value=True)])
