"""How soon nodes find each other on Fast DDS, the middleware of ROS 2 unless told otherwise.

A node that starts announces itself, but one that runs already answers only with its own next announcement, by default
every 3 s: a controller started beside a running simulator waited for its first state up to that long. Measured with
rmw_fastrtps 9.3.3 (Kilted) and 8.4 (Jazzy), a publisher that runs and a subscriber that starts, first message after:
1.6 to 3.2 s in most starts by default, 0.05 to 0.3 s in all with an announcement every 0.2 s.

So the nodes announce themselves four times a second (``fastdds.xml``), at the price of a few hundred bytes each time.
And a process that was killed is missed after 5 s, not 20: until then it counts as a publisher on other hosts, and a
controller that took its place would find itself beside a second one.

Whoever has a profile of their own (the environment variable below) keeps it, and other middleware does not look.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROFILE = Path(__file__).with_name("fastdds.xml")


def announce_often() -> None:
    """Let the nodes of this process, and of those it starts, announce themselves often; to be called before init."""
    os.environ.setdefault(_variable(), str(PROFILE))


def _variable() -> str:
    """Kilted, with rclpy 9, is the first with Fast DDS 3, which renamed the variable and warns of the old name."""
    try:
        major = int(version("rclpy").split(".")[0])
    except (PackageNotFoundError, ValueError):  # an installation without Python's metadata: take it for a recent one
        major = 9
    return "FASTDDS_DEFAULT_PROFILES_FILE" if major >= 9 else "FASTRTPS_DEFAULT_PROFILES_FILE"
