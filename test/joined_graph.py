# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ROS 2 graph that no other graph sees, with this process in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from robodyn_ros.cli.processes import isolated


@contextmanager
def joined(**more: str) -> Iterator[dict[str, str]]:
    """As :func:`isolated`, with this process in the graph: its environment is that of the graph until the end.

    Args:
        **more: environment variables.

    Raises:
        ConfigurationError: as :func:`isolated`.
    """
    before = dict(os.environ)
    with isolated() as environment:
        environment |= more
        os.environ.clear()
        os.environ.update(environment)
        try:
            yield environment
        finally:
            os.environ.clear()
            os.environ.update(before)
