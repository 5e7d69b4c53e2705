"""An environment in which a ROS 2 graph meets no other: a domain of its own, and this machine only."""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robodyn_ros.errors import ConfigurationError

DOMAINS = range(1, 101)
"""Domains whose ports, 7400 + 250 domain and a few more, stay below the ephemeral ones of Linux, from 32768 on."""

LEADS_OUT = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE")
"""Variables that would let others in, or contradict what is set here."""


@contextmanager
def isolated() -> Iterator[dict[str, str]]:
    """The environment for the processes of such a graph.

    The domain is drawn at random and locked by a file for as long as it is used, so that two graphs made like this on
    one machine never share one. (A graph made otherwise may still have the number: 1 in 100 for each.)

    Raises:
        ConfigurationError: every domain is taken.
    """
    for domain in random.Random().sample(DOMAINS, len(DOMAINS)):
        path = Path(tempfile.gettempdir()) / f"robodyn_ros_domain_{domain}.lock"
        try:
            lock = open(path, "a")  # noqa: SIM115
        except OSError:  # another user's
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            kept = {name: value for name, value in os.environ.items() if name not in LEADS_OUT}
            yield kept | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
            return
    raise ConfigurationError(f"every ROS 2 domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use on this machine")
