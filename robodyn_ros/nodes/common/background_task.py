"""A calculation in a thread, beside the control loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")

SWITCH_INTERVAL = 5e-4
"""How long the thread may keep the loop waiting for the interpreter [s]; Python's default is ten times that."""


class BackgroundTask(Generic[Result]):
    """A calculation in a thread; it starts at once.

    Attributes:
        name: of the result, for messages.
    """

    def __init__(self, name: str, compute: Callable[[], Result]) -> None:
        """
        Args:
            name: of the result.
            compute: the calculation; called in the thread.
        """
        self.name = name
        self._compute = compute
        self._problem: Exception | None = None
        self._result: list[Result] = []
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """True if :meth:`result` answers at once."""
        return not self._thread.is_alive()

    @property
    def problem(self) -> Exception | None:
        """What the calculation raised, once it is done."""
        return self._problem

    def wait(self, limit: float) -> bool:
        """Wait for the end, but no longer than a time [s]; True if it has come."""
        self._thread.join(limit)
        return self.done

    def result(self) -> Result:
        """Wait for the result.

        Raises:
            Exception: whatever the calculation raised.
        """
        self._thread.join()
        if self._problem is not None:
            raise self._problem
        return self._result[0]

    def _run(self) -> None:
        try:
            self._result.append(self._compute())
        except Exception as problem:  # raised by result, where somebody can report it
            self._problem = problem
