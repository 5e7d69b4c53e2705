# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults that come and go: they latch, and what a reaction has lasted is not forgotten."""

import numpy as np
import pytest
from test_control_safety import CONFIG, DYNAMICS, FAST, GRAVITY, PERIOD, REACTIONS, ZERO, Arm, Moody

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.table import FaultReactions
from robodyn_ros.errors import NotReadyError

N = CODES["RECURRENCES"]
WITHIN = 10.0
"""Time within which as many latch a fault [s]."""

KINDS = ["speed", "publisher", "law"]


class Flapping(Arm):
    """An arm with a fault that can be switched on and off."""

    def __init__(self, kind, reaction="hold", max_duration=60.0):
        reactions = FaultReactions(**{**REACTIONS, kind: (reaction, max_duration)})
        super().__init__(Moody(DYNAMICS, 100.0, 20.0), reactions=reactions)
        self.kind = kind

    def fault(self, on):
        """The command for a state with the fault, or without."""
        if self.kind == "publisher":
            self.loop.set_publisher_conflict("two" if on else "")
        if self.kind == "law":
            self.loop.controller.spoil = (lambda efforts: 1 / 0) if on else Moody.spoil
        return self.state(qd=FAST if on and self.kind == "speed" else ZERO)

    def flap(self, times, period=0.1):
        """The fault comes and goes so many times; the last command."""
        for _ in range(times):
            self.fault(True)
            last = [self.fault(False) for _ in range(round(period / PERIOD) - 1)][-1]
        return last


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_that_recurs_is_latched(kind):
    arm = Flapping(kind)
    assert arm.flap(N - 1).fault is None
    command = arm.flap(1)
    assert (command.fault, arm.loop.fault.phase, arm.loop.fault.latched) == (kind, "hold", True)
    assert "latched" in command.problem
    np.testing.assert_allclose(command.effort, GRAVITY, rtol=1e-9)
    with pytest.raises(NotReadyError, match=kind):
        arm.loop.follow(None)


@pytest.mark.parametrize("kind", ["speed", "publisher"])
def test_a_latched_fault_is_over_once_it_has_been_quiet(kind):
    arm = Flapping(kind)
    arm.flap(N)
    arm.fault(True)
    until = arm.t + CONFIG.settled_time
    while arm.t < until - 1.5 * PERIOD:
        assert arm.fault(False).fault == kind
    arm.fault(False)
    assert (arm.fault(False).fault, arm.loop.fault) == (None, None)
    assert arm.flap(N - 2).fault is None
    for _ in range(30):
        command = arm.fault(False)
    np.testing.assert_allclose(command.effort, GRAVITY, rtol=1e-12)
    assert arm.loop.fault is None


@pytest.mark.parametrize("how", ["hold", "enable"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_latched_fault_can_be_acknowledged_but_not_as_long_as_it_lasts(kind, how):
    arm = Flapping(kind)
    arm.flap(N - 1)
    arm.fault(True)
    arm.loop.hold(arm.t)
    assert arm.fault(True).fault == kind
    arm.flap(N + 1)
    assert arm.loop.fault.latched
    arm.loop.hold(arm.t) if how == "hold" else arm.loop.stop()
    command = arm.fault(False)
    assert (command.fault, arm.loop.fault) == (None, None)


@pytest.mark.parametrize("period", [0.03, 0.5])
def test_few_faults_are_not_latched(period):
    arm = Flapping("speed")
    for _ in range(2):
        arm.flap(N - 1, period)
        for _ in range(round(WITHIN / PERIOD)):
            command = arm.fault(False)
        assert command.fault is None


def test_faults_that_are_seldom_are_not_latched():
    arm = Flapping("speed")
    for _ in range(N + 1):
        arm.fault(True)
        for _ in range(round(1.2 * WITHIN / (N - 1) / PERIOD)):
            assert arm.fault(False).fault is None


def test_the_expiry_counts_over_repetitions():
    """A fault that is away for a moment, again and again, does not renew its reaction."""
    arm = Flapping("speed", max_duration=0.5)
    held = 0.0
    for _ in range(N - 1):  # 0.2 s of fault each, 0.05 s without
        for _ in range(20):
            arm.fault(True)
            held += PERIOD * (arm.loop.fault.phase == "hold")
        if arm.loop.fault.phase != "hold":
            break
        for _ in range(5):
            arm.fault(False)
    assert held == pytest.approx(0.5, abs=4 * PERIOD)
    for _ in range(60):
        arm.fault(True)
    assert arm.loop.fault.phase == "silent"
    for _ in range(round(CONFIG.settled_time / PERIOD) + 1):
        arm.fault(False)
    for _ in range(40):
        arm.fault(True)
        assert arm.loop.fault.phase == "hold"


@pytest.mark.parametrize("every", [0.3, 1.0, 2.5])
def test_one_state_now_and_then_does_not_renew_a_blind_hold(every):
    """Blind for a second in all, then silence; as long as states come that seldom."""
    arm = Arm(reactions=FaultReactions(**{**REACTIONS, "states": ("hold", 1.0)}))
    blind, phases = 0.0, []
    for _ in range(round(12.0 / every)):
        times, _ = arm.watched(every - PERIOD)
        blind += len(times) * PERIOD * (arm.loop.fault is not None and arm.loop.fault.phase == "hold")
        phases.append(arm.loop.fault.phase)
        arm.state(after=every)
    assert blind < 1.0 + every
    assert phases[-1] == "silent" or every < 1.0


@pytest.mark.parametrize("kinds", [("speed", "publisher"), ("publisher", "speed")])
def test_there_is_no_way_back_from_silence_to_a_hold_by_another_fault(kinds):
    arm = Arm()
    first, second = kinds

    def on(kind):
        arm.loop.set_publisher_conflict("two" if kind == "publisher" else "")
        return arm.state(qd=FAST if kind == "speed" else ZERO)

    reaction = REACTIONS[first]
    for _ in range(round(reaction.max_duration / PERIOD) + 3):
        last = on(first)
    assert [last, *(on(second) for _ in range(100))] == [None] * 101
    assert arm.loop.fault.phase == "silent"
