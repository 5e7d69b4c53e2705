"""What is said of a loop's faults: that one has begun, and that it is over."""

from __future__ import annotations

from typing import Any

from robodyn_ros.control.command import Command
from robodyn_ros.control.emergency import Emergency
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.nodes.faults import PAUSE, Faults

NAMES = {
    "states": "no joint states",
    "law": "control law failed",
    "speed": "too fast",
    "publisher": "second publisher",
}
"""Class of faults that have an answer → what its faults are counted as."""


class FaultReport:
    """See the module."""

    def __init__(self, loop: ControlLoop, faults: Faults, log: Any) -> None:
        """
        Args:
            loop: whose faults.
            faults: where they are counted.
            log: the node's.
        """
        self._loop, self._faults, self._log = loop, faults, log
        self._last: Emergency | None = None

    @property
    def state(self) -> str:
        """The fault that lasts and the answer to it; "" if there is none."""
        fault = self._loop.fault
        return "" if fault is None else f"{NAMES[fault.kind]}: {fault.phase}"

    def tell(self, command: Command | None) -> None:
        """Count a fault that has just begun, and say when one is over; to be called with each command."""
        fault = self._loop.fault
        if fault is self._last:
            return
        if fault is not None and command is not None:
            self._faults.count(NAMES[fault.kind], f"{command.problem}; the answer is {fault.phase}")
        elif fault is None:
            self._log.info("the fault is over: the arm is held where it is", throttle_duration_sec=PAUSE)
        self._last = fault
