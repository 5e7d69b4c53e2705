"""A script: the steps of a node in the order in which they happen, though events drive them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import NamedTuple

from robodyn_ros.errors import NotReadyError


class ScriptStep(NamedTuple):
    """A condition that a script waits for."""

    what: str  # names it in the message if it does not come
    come: Callable[[], object]  # returns whether it has come
    longer: float = 0.0  # how much longer than the player's patience it may take [s]


Script = Iterator[ScriptStep]
"""A generator that yields each condition it waits for, and goes on when that has come."""


class Player:
    """Runs a script."""

    def __init__(self, script: Script, patience: float, clock: Callable[[], float] = monotonic) -> None:
        """
        Args:
            script: runs to its first step at once.
            patience: longest wait for a step [s].
            clock: that never goes back [s].
        """
        self._script = script
        self._patience = patience
        self._clock = clock
        self._step, self._since = next(script), clock()

    def go_on(self) -> bool:
        """Go on as far as the conditions have come; to be called whenever something has happened.

        Returns:
            True if the script has come to its end.

        Raises:
            NotReadyError: a condition has not come in time.
        """
        while self._step.come():
            step = next(self._script, None)
            if step is None:
                return True
            self._step, self._since = step, self._clock()
        if self._clock() - self._since > self._patience + self._step.longer:
            raise NotReadyError(f"no sign of {self._step.what}, after {self._patience:g} s")
        return False
