"""Answers of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robodyn_ros.errors import RobodynError


def respond(response: Any, action: Callable[[], str]) -> Any:
    """Fill in the ``success`` and ``message`` of an answer.

    Args:
        response: of SetBool or Trigger.
        action: does what was asked for and says what it did, or raises RobodynError.
    """
    try:
        response.message = action()
        response.success = True
    except RobodynError as problem:
        response.message = str(problem)
        response.success = False
    return response
