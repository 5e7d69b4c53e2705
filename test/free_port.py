# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A port of this machine that nothing listens at."""

import socket


def free_port() -> int:
    """Return one that the system draws at random out of thousands."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
