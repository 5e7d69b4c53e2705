# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many examples the tests of fuzzing try: ``ROBODYN_FUZZ`` of them, new ones with every run, or the same few."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TRIES = int(os.environ.get("ROBODYN_FUZZ", "0"))

in_time = pytest.mark.timeout(0 if TRIES else 120)


def fuzzed(few: int) -> Callable[[Any], Any]:
    """The settings of a test that otherwise tries few examples."""
    return settings(
        max_examples=TRIES or few,
        derandomize=not TRIES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
