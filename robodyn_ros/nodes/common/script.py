"""A script: what a node does one thing after the other, written down in that order though it is driven by events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import NamedTuple

from robodyn_ros.errors import NotReadyError


class ScriptStep(NamedTuple):
    """What a script waits for."""

    what: str  # for the message if it does not come
    come: Callable[[], object]  # whether it has
    longer: float = 0.0  # how much longer than the player's patience it may take [s]


Script = Iterator[ScriptStep]
"""A generator that yields what it waits for, and goes on when that has come."""


class Player:
    """Plays a script."""

    def __init__(self, script: Script, patience: float, clock: Callable[[], float] = monotonic) -> None:
        """
        Args:
            script: its first step is asked for at once.
            patience: longest wait for a step [s].
            clock: that never goes back [s].
        """
        self._script = script
        self._patience = patience
        self._clock = clock
        self._step, self._since = next(script), clock()

    def go_on(self) -> bool:
        """Go on as far as what is waited for has come; to be called whenever something has happened.

        Returns:
            Whether the script has come to its end.

        Raises:
            NotReadyError: patience is over.
        """
        while self._step.come():
            step = next(self._script, None)
            if step is None:
                return True
            self._step, self._since = step, self._clock()
        if self._clock() - self._since > self._patience + self._step.longer:
            raise NotReadyError(f"no sign of {self._step.what}, after {self._patience:g} s")
        return False
