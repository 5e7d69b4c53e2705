"""Something that takes long to make, made beside the loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Made = TypeVar("Made")

TURN = 5e-4
"""How long another thread may keep the loop waiting while something is made [s]; Python's default is ten times that."""


class BackgroundTask(Generic[Made]):
    """Makes something in a thread.

    Attributes:
        name: of what is made, for messages.
    """

    def __init__(self, name: str, make: Callable[[], Made]) -> None:
        """
        Args:
            name: of what is made.
            make: makes it; called in the thread.
        """
        self.name = name
        self._make = make
        self._problem: Exception | None = None
        self._made: list[Made] = []
        sys.setswitchinterval(TURN)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether :meth:`result` will answer at once."""
        return not self._thread.is_alive()

    def result(self) -> Made:
        """What was made.

        Raises:
            Exception: whatever making it raised.
        """
        self._thread.join()
        if self._problem is not None:
            raise self._problem
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except Exception as problem:  # raised by result, where it can be told
            self._problem = problem
