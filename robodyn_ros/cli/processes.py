"""Nodes as processes that start together and end together, whatever happens to the one who started them."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from robodyn_ros.cli import bound
from robodyn_ros.errors import ConfigurationError, RobodynError

# An environment in which a ROS 2 graph meets no other: a domain of its own, and this machine only.

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


GRACE = 2.0
"""How long a node may take to end by itself when it is told to [s]."""

LAST_LINES = 8
"""How much of its log is shown of a node that failed."""


class ProcessError(RobodynError):
    """A process that ended though it should not have; the message has the last lines of its log."""


class GroupProcess:
    """One process of a crew.

    Attributes:
        name: the node's name.
        process: the process, the leader of a process group and session of its own.
        log: what it prints to stderr, and to stdout unless that is a pipe.
    """

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        """See the class."""
        self.name = name
        self.process = process
        self.log = log

    def failure(self, what: str) -> ProcessError:
        """An error about it."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        said = "its log ends:\n" + "\n".join(f"    {line}" for line in lines) if lines else "it said nothing"
        return ProcessError(f"the {self.name} {what}; {said}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to whatever it started, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


class ProcessGroup:
    """The processes. To be used in a ``with``, at whose end none of them is left.

    Each has a session of its own, so that Ctrl-C in the terminal reaches only the one who started them, who then ends
    them in order; and each is killed by the kernel should that one be killed (:mod:`robodyn_ros.cli.bound`).
    """

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        """
        Args:
            env: environment of the processes.
            folder: for their logs and parameter files.
        """
        self._env = dict(env)
        self._folder = folder
        self._members: list[GroupProcess] = []

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(
        self,
        node: str,
        parameters: Mapping[str, Any],
        files: Sequence[Path] = (),
        remappings: Mapping[str, str] | None = None,
        piped: bool = False,
    ) -> GroupProcess:
        """Start a node.

        Args:
            node: module of ``robodyn_ros.nodes`` that is run, and the node's name.
            parameters: name → value; they win over those of the files.
            files: parameter files.
            remappings: topic → what it is called instead.
            piped: whether its stdout is read through a pipe, line by line.
        """
        own = self._folder / f"{node}.json"  # JSON is YAML
        own.write_text(json.dumps({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
        ros = [argument for file in (*files, own) for argument in ("--params-file", str(file))]
        ros += [argument for name, new in (remappings or {}).items() for argument in ("-r", f"{name}:={new}")]
        program = [sys.executable, "-m", f"robodyn_ros.nodes.{node}", "--ros-args", *ros]
        command = [sys.executable, "-I", "-S", bound.__file__, str(os.getpid()), *program]
        log = self._folder / f"{node}.log"
        with open(log, "w", encoding="utf-8") as out:
            output: IO[str] | int = subprocess.PIPE if piped else out
            process = subprocess.Popen(
                command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=out,
                text=True,
                start_new_session=True,
            )
        member = GroupProcess(node, process, log)
        self._members.append(member)
        return member

    def check(self) -> None:
        """See that all are at work.

        Raises:
            ProcessError: one has ended with a code other than 0.
        """
        for member in self._members:
            code = member.process.poll()
            if code:
                cause = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
                raise member.failure(cause)

    def stop(self) -> None:
        """End them: by SIGINT, and those that do not within the grace period by SIGKILL."""
        try:
            for member in self._members:
                member.signal(signal.SIGINT)
            end = time.monotonic() + GRACE
            for member in self._members:
                try:
                    member.process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue  # killed below
        finally:  # even if interrupted again
            for member in self._members:
                member.signal(signal.SIGKILL)
            for member in self._members:
                member.process.wait()
                if member.process.stdout is not None:
                    member.process.stdout.close()
            self._members.clear()
