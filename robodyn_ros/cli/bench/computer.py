# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Is this computer good enough? Period jitter, latency and lost messages of a control loop, and the gains they allow.

Two processes stand for the arm and its controller. One sends a state each period, by the monotonic clock, in a datagram
over the loopback network, as a driver does. The other computes the arm's inverse dynamics and sends the effort back.
The middleware of ROS is not in between; it adds some tenths of a millisecond, which ``make bench-ros`` measures.

The safe gains follow from the sampled and delayed feedback of ``control/faults/sampling.py``: the greatest natural
frequency, at a damping ratio of one, that is stable with gains twice as high (a gain margin of 6 dB; Åström and Murray,
Feedback Systems (2nd ed., 2021), §10.3).
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import floor
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros import create_dynamics
from robodyn_ros.control import JointGains, SafetySettings
from robodyn_ros.control.faults.sampling import stable_ratio
from robodyn_ros.control.laws.base import AccelerationGains
from robodyn_ros.die_with_parent import dying_with_parent
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Array, Robot

RATES = (100.0, 125.0, 250.0, 500.0, 1000.0)
"""Rates of the states of usual arms [Hz]."""

MOST = 0.999
"""Fraction of the periods by which the computer is judged; the rest is shown as the greatest value."""

SAFE_MARGIN = 2.0
"""Gain margin of safe gains [-]."""

DELAYS = 5
"""Number of delays, from none to the usual latency; the least favourable one counts."""

IN_TIME = 0.5
"""Fraction of a period by which a state and its effort together may be late, so that the rate is kept [-]."""

PRIORITY = 50
"""Priority among real-time threads that the nodes ask for, and so do these processes."""

GREATEST = 1000.0
"""Greatest natural frequency of the parameters [rad/s]."""

REPEAT_PERIOD = 0.5
"""Time after which the end of the states is sent again, because it may be lost like any datagram [s]."""

FORMAT = struct.Struct("<q")
"""A datagram: the number of the state, at the end that of all. Its length does not matter on the loopback network."""


class Timing(NamedTuple):
    """The measured times of N states."""

    rate: float  # of the states [Hz]
    scheduling: str  # of both processes, in words
    late: Array  # of each state, behind its time, (N,) [s]
    latency: Array  # from a state to its effort, (N,) [s]; NaN where none came

    @property
    def lost(self) -> int:
        """Number of states without an effort."""
        return int(np.isnan(self.latency).sum())


class Allowance(NamedTuple):
    """The gains that a computer allows at a rate."""

    rate: float  # [Hz]
    keeps: bool  # states and efforts come in time
    frequency: float  # greatest natural frequency that is safe [rad/s]; 0 if the rate is not kept


def allowance(timing: Timing, rate: float) -> Allowance:
    """The gains that the measured times allow at a rate [Hz], with the same lateness and latency at every rate.

    Args:
        timing: the measured times.
        rate: of the states [Hz].
    """
    came = timing.latency[~np.isnan(timing.latency)]
    period, late = 1.0 / rate, float(np.quantile(timing.late, MOST))
    latency = float(np.quantile(came, MOST)) if len(came) else np.inf
    if late + latency > IN_TIME * period or timing.lost > (1.0 - MOST) * len(timing.latency):
        return Allowance(rate, False, 0.0)
    one = np.eye(1)
    gains = AccelerationGains(GREATEST**2 * one, 2.0 * GREATEST * one, 0.0 * one)
    # The delay varies, and a longer one is not worse in every case.
    parts = [stable_ratio(period + late, part * latency, gains, SAFE_MARGIN) for part in np.linspace(0.0, 1.0, DELAYS)]
    return Allowance(rate, True, GREATEST * min(parts))


def is_enough(timing: Timing) -> bool:
    """True if the rate is kept and the default gains are safe at it.

    Args:
        timing: the measured times, at the required rate.
    """
    found = allowance(timing, timing.rate)
    return found.keeps and found.frequency >= JointGains().natural_frequency


def verdict(timing: Timing) -> str:
    """In words: the rate and gains that are safe here, and the remedy if they are not enough.

    Args:
        timing: the measured times, at the required rate.
    """
    default, timeout = JointGains().natural_frequency, SafetySettings().state_timeout
    here = allowance(timing, timing.rate)
    safe = f"natural frequencies of up to {floor(here.frequency)} rad/s are safe for it"
    if here.keeps and here.frequency >= default:
        said = f"Good enough for {timing.rate:g} Hz: {safe}, including the default gains ({default:g} rad/s)."
    elif here.keeps:
        said = f"Good enough for {timing.rate:g} Hz with lower gains: {safe}, the default gains ({default:g} rad/s) "
        said += f"are not. Set gains.<joint>.natural_frequency to {floor(here.frequency)} or less, or raise the rate."
    else:
        why = f"{timing.lost:,} of {len(timing.latency):,} states had no effort" if timing.lost else "efforts come late"
        kept = [found.rate for rate in RATES if rate < timing.rate and (found := allowance(timing, rate)).keeps]
        instead = f"{max(kept):g} Hz is kept" if kept else "no usual rate is kept"
        said = f"Not good enough for {timing.rate:g} Hz: {why}; {instead}."
    worst = float(np.nanmax(timing.latency + timing.late, initial=0.0)) + 1.0 / timing.rate
    if worst > timeout:
        said += f" The longest wait was {worst:.2g} s: with a state_timeout of {timeout:g} s the arm would have been"
        said += " held."
    if timing.scheduling == "ordinary" and not is_enough(timing):
        said += " Allow real-time priority (rtprio in limits.conf(5)), and stop other programs."
    return said


def measure(rate: float, seconds: float, robot: Robot) -> Timing:
    """Run both processes for a while.

    Args:
        rate: of the states [Hz].
        seconds: duration [s].
        robot: whose inverse dynamics are computed.

    Raises:
        NotReadyError: the other process has failed.
    """
    dynamics, zero, count = create_dynamics("rnea", robot), np.zeros(robot.n), max(1, round(rate * seconds))
    dynamics.inverse(robot.home, zero, zero)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states:
        states.bind(("127.0.0.1", 0))
        words = [str(states.getsockname()[1]), repr(rate), str(count)]
        command = dying_with_parent([sys.executable, __file__, *words])
        # Ctrl-C reaches this process alone, which then ends the other one.
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as arm,
            real_time() as scheduling,
        ):
            try:
                sources: list[Any] = [states, arm.stdout]
                while states in select.select(sources, [], [])[0]:  # until the other process gives its result, or ends
                    datagram, address = states.recvfrom(FORMAT.size)
                    dynamics.inverse(robot.home, zero, zero)
                    states.sendto(datagram, address)
                said = arm.communicate()[0]
            finally:
                arm.kill()
    if arm.returncode:
        raise NotReadyError(f"the process that stands for the arm has ended with code {arm.returncode}")
    found = json.loads(said)
    return Timing(rate, scheduling, np.array(found["late"]), np.array(found["latency"], dtype=np.float64))


def send_states(port: int, rate: float, count: int) -> dict[str, list[float | None]]:
    """Send states at their times, and record the arrival of their efforts; this is the other process.

    Args:
        port: of the controller.
        rate: of the states [Hz].
        count: number of states.
    """
    late, sent = [0.0] * count, [0.0] * count
    latency: list[float | None] = [None] * count
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as arm, real_time():
        arm.connect(("127.0.0.1", port))
        arm.setblocking(False)

        def note_until(due: float) -> bool:
            """Note the efforts that come until then; true once the end is answered, as the last one."""
            while (left := due - monotonic()) > 0.0:
                if select.select([arm], [], [], left)[0]:
                    number = FORMAT.unpack(arm.recv(FORMAT.size))[0]
                    if number == count:
                        return True
                    latency[number] = monotonic() - sent[number]
            return False

        begun = monotonic() + 1.0 / rate
        for number in range(count):
            note_until(begun + number / rate)
            sent[number] = monotonic()
            late[number] = sent[number] - begun - number / rate
            arm.send(FORMAT.pack(number))
        arm.send(FORMAT.pack(count))
        while not note_until(monotonic() + REPEAT_PERIOD):
            arm.send(FORMAT.pack(count))
    return {"late": [*late], "latency": latency}


@contextmanager
def real_time() -> Iterator[str]:
    """Real-time priority for this process where the system permits it, as the nodes have it; yields it in words."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    except (AttributeError, OSError):  # another system, or not permitted
        yield "ordinary"
        return
    try:
        yield f"SCHED_FIFO {PRIORITY}"
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


if __name__ == "__main__":
    print(json.dumps(send_states(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))))
