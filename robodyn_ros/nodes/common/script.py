# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A script: the steps of a node in the order in which they happen, though events drive them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import monotonic
from typing import Any, NamedTuple

from rclpy.client import Client
from rclpy.node import Node

from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import steady_timer
from robodyn_ros.nodes.common.executor import Exit


class ScriptStep(NamedTuple):
    """A condition that a script waits for."""

    what: str  # its name in the message if it is not met
    is_met: Callable[[], object]  # returns whether it is met
    extra_time: float = 0.0  # time that it may take beyond the runner's patience [s]


Script = Generator[ScriptStep, None, None]
"""A generator that yields each condition it waits for, and continues when that is met."""


SteadyTime = Callable[[], float]
"""A clock that never goes back [s]."""

RETRY_PERIOD = 5.0
"""Time after which a request without an answer is sent again [s]."""


class RepeatedRequest:
    """A request to a service, which may receive it twice.

    DDS finds the two ends of a service one by one. An answer is lost if its node has not found the client yet, and the
    client gets no notice of that; so it sends the request again.
    """

    def __init__(self, client: Client, request: Any, clock: SteadyTime = monotonic) -> None:
        """
        Args:
            client: of the service, which is available.
            request: for it; it is sent at once.
            clock: of all waits.
        """
        self._client, self._request, self._clock = client, request, clock
        self._asked, self._since = [client.call_async(request)], clock()

    def done(self) -> bool:
        """Return whether there is an answer, and send the request again if there has been none for a while."""
        if self._clock() - self._since > RETRY_PERIOD:
            self._asked.append(self._client.call_async(self._request))
            self._since = self._clock()
        return any(future.done() for future in self._asked)

    def result(self) -> Any:
        """Return the first answer."""
        return next(future.result() for future in self._asked if future.done())


class ScriptRunner:
    """Runs the script of a node, and ends the node with it: with code 0, or with code 1 and a line in the log."""

    def __init__(
        self, node: Node, end: Exit, script: Script, patience: float, period: float, clock: SteadyTime = monotonic
    ) -> None:
        """
        Args:
            node: the node of the script.
            end: ends the process.
            script: runs to its first step at once.
            patience: longest wait for a step [s].
            period: time between two checks that the script can continue [s].
            clock: of all waits.
        """
        self._log, self._end = node.get_logger(), end
        self._script, self._patience, self._clock = script, patience, clock
        self._step, self._since = next(script), clock()
        steady_timer(node, period, self.advance)

    def advance(self) -> None:
        """Continue as far as the conditions are met; to be called also after an event."""
        if self._end.code is not None:
            return
        try:
            self._advance()
        except (RobodynError, OSError) as problem:
            self.fail(problem)
        except Exception:  # a script that raised cannot continue
            self._end(1)
            raise

    def fail(self, problem: Exception) -> None:
        """End the node because of a problem."""
        self._log.error(str(problem))
        self._end(1)

    def _advance(self) -> None:
        while self._step.is_met():
            step = next(self._script, None)
            if step is None:
                self._end(0)
                return
            self._step, self._since = step, self._clock()
        if self._clock() - self._since > self._patience + self._step.extra_time:
            self._script.close()  # runs its final steps
            raise NotReadyError(f"no sign of {self._step.what}, after {self._patience:g} s")
