# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as processes that start together and end together, in a ROS 2 graph that no other graph sees.

:func:`isolated` makes the environment of such a graph: a domain of its own, and this machine only.
:func:`joined` is for a process that is in the graph itself.
:func:`node_command` is the command line of a node, and :func:`reporting_node` runs one that reports its steps.
:class:`ProcessGroup` starts the nodes and ends them all, even if the process that started them is killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace, _ActionsContainer
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, NoReturn

from robodyn_ros.cli.verb import GivenParameters, add_option, only_with
from robodyn_ros.control.parameter_file import LoadedParameters, parameters_text, read_parameters
from robodyn_ros.die_with_parent import dying_with_parent
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError, signals_deferred

DOMAINS = range(1, 101)
"""Domains whose ports (7400 + 250 domain, and a few more) stay below the ephemeral ports of Linux (from 32768)."""

DISCOVERY = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE")
"""Environment variables that would connect other graphs, or contradict the ones that are set here."""

GRACE = 2.0
"""Time in which a node must end after SIGINT [s]."""

CHECK_PERIOD = 0.1
"""Period of the check that no process has failed [s]."""

LAST_LINES = 8
"""Lines of a failed node's log that the error message shows."""


@contextmanager
def isolated() -> Iterator[dict[str, str]]:
    """Yield the environment for the processes of an isolated graph.

    The domain is drawn at random, and a name in the abstract namespace of Unix sockets holds it while it is in use
    (unix(7)). That namespace belongs to the network, as the domain does: two isolated graphs never share a domain,
    with any folders, users and containers. The kernel releases the name when its process ends. A graph that
    was started otherwise has the same number with a probability of 1 in 100.

    Raises:
        ConfigurationError: every domain is in use.
    """
    for domain in random.Random().sample(DOMAINS, len(DOMAINS)):
        with socket.socket(socket.AF_UNIX) as held:
            try:
                held.bind(f"\0robodyn_ros/domain/{domain}")
            except OSError:  # another graph's
                continue
            kept = {name: value for name, value in os.environ.items() if name not in DISCOVERY}
            yield kept | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
            return
    raise ConfigurationError(f"every ROS 2 domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use on this machine")


Parameters = Mapping[str, Any]
"""Name → value of a node's parameters."""

Topics = Mapping[str, str] | None
"""Topic → its new name; None if all keep theirs."""


def node_command(
    node: str, parameters: Parameters, folder: Path, files: Sequence[Path] = (), remappings: Topics = None
) -> list[str]:
    """Return the command line of a node.

    Args:
        node: its name, as in ``robodyn_ros.nodes.start``.
        parameters: name → value; these override the files.
        folder: place of the file that the node gets.
        files: parameter files.
        remappings: topic → its new name.
    """
    own, values = folder / f"{node}.json", LoadedParameters()
    for file in files:
        values |= read_parameters(file, node)
    own.write_text(parameters_text(values | parameters), encoding="utf-8")
    ros = ["--params-file", str(own)]
    ros += [argument for name, new in (remappings or {}).items() for argument in ("-r", f"{name}:={new}")]
    return [sys.executable, "-m", "robodyn_ros.nodes.start", node, "--ros-args", *ros]


def add_namespace(parser: _ActionsContainer) -> None:
    """Add the option ``--namespace`` to a parser or a group of options."""
    add_option(parser, "--namespace NAME", "ROS namespace of the running controller, such as left (default: none)", "")


def namespace_of(args: Namespace, needed: bool, use: str) -> dict[str, str]:
    """The remapping by which a node works in the namespace that ``--namespace`` names.

    Args:
        args: of a verb, with the option.
        needed: True if the verb starts a node in the running graph.
        use: what that takes, for the message.

    Raises:
        InputError: the option does nothing here.
    """
    only_with(args, needed, use, "namespace")
    return {"__ns": f"/{args.namespace.strip('/')}"} if args.namespace else {}


def _start(command: Sequence[str], log: IO[str], **options: Any) -> subprocess.Popen[str]:
    """Start a process in a session of its own, with its stderr in a log; the options are those of ``Popen``."""
    return subprocess.Popen(command, stderr=log, text=True, start_new_session=True, **options)


@contextmanager
def reporting_node(
    node: str, parameters: Parameters, remappings: Topics = None, stdin: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a node that writes each step as a line of JSON on stdout, and wait for its end after the ``with`` block.

    Ctrl-C reaches this process alone; :func:`messages_of` passes it on.

    Args:
        node: its name, as in ``robodyn_ros.nodes.start``.
        parameters: name → value.
        remappings: topic → its new name.
        stdin: of the node, as for ``subprocess.Popen``.

    Raises:
        NotReadyError: the node has failed; the message has the last line of its log.
    """
    with TemporaryDirectory(prefix="robodyn-") as folder:
        log = Path(folder) / "log"
        command = node_command(node, parameters, Path(folder), remappings=remappings)
        with open(log, "w", encoding="utf-8") as err:
            mortal = dying_with_parent(command, signal.SIGTERM)  # a node that ends by SIGTERM leaves the arm in order
            process = _start(mortal, err, stdin=stdin, stdout=subprocess.PIPE)
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            code = process.wait()
        if code != 0:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [f"it ended with {code}"]
            raise NotReadyError(f"the {node}: {(said[-1].partition(']: ')[2] or said[-1]).removeprefix('error: ')}")


def messages_of(process: subprocess.Popen[str]) -> Iterator[dict[str, Any] | None]:
    """Yield the messages of a node until it ends; Ctrl-C goes to the node, and None stands for it."""
    assert process.stdout is not None
    while True:
        try:
            line = process.stdout.readline()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            yield None
            continue
        if not line:
            return
        yield json.loads(line)


class ProcessError(RobodynError):
    """A process has ended too early or has failed; the message has the last lines of its log."""


class GroupProcess(NamedTuple):
    """One process of a group.

    Attributes:
        name: the node's name.
        process: the process, which leads a session and a process group of the operating system.
        log: the file with its stderr, and its stdout unless that is a pipe.
    """

    name: str
    process: subprocess.Popen[str]
    log: Path

    def failure(self, what: str) -> ProcessError:
        """Return an error about this process.

        Args:
            what: the event, as the rest of a sentence.
        """
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        said = "its log ends:\n" + "\n".join(f"    {line}" for line in lines) if lines else "its log is empty"
        return ProcessError(f"the {self.name} {what}; {said}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its children, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


class ProcessGroup(AbstractContextManager["ProcessGroup"]):
    """Nodes as processes; at the end of the ``with`` block all of them have ended.

    Each process has a session of its own, so that Ctrl-C in the terminal reaches only the process that started them,
    which then ends them in order. If that process is killed, the kernel kills them
    (:mod:`robodyn_ros.die_with_parent`).
    """

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        """
        Args:
            env: environment of the processes.
            folder: place of their logs and parameter files.
        """
        self._env = dict(env)
        self._folder = folder
        self._processes: list[GroupProcess] = []

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(
        self, node: str, parameters: Parameters, files: Sequence[Path] = (), topics: Topics = None, piped: bool = False
    ) -> GroupProcess:
        """Start a node.

        Args:
            node: module of ``robodyn_ros.nodes`` to run, and the node's name.
            parameters: name → value; these override the files.
            files: parameter files.
            topics: topic → its new name.
            piped: give stdout a pipe, which the caller reads line by line.
        """
        command = dying_with_parent(node_command(node, parameters, self._folder, files, topics))
        log = self._folder / f"{node}.log"
        with open(log, "w", encoding="utf-8") as out, signals_deferred():
            output = subprocess.PIPE if piped else out
            process = _start(command, out, env=self._env, stdin=subprocess.DEVNULL, stdout=output)
            started = GroupProcess(node, process, log)
            self._processes.append(started)
        return started

    def check(self) -> None:
        """Check that no process has failed.

        Raises:
            ProcessError: a process has ended with a code other than 0.
        """
        for each in self._processes:
            code = each.process.poll()
            if code:
                cause = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
                raise each.failure(cause)

    def stay(self) -> NoReturn:
        """Stay until Ctrl-C, or until a process fails.

        Raises:
            ProcessError: one has failed.
        """
        while True:
            self.check()
            time.sleep(CHECK_PERIOD)

    def lines(self, piped: GroupProcess) -> Iterator[str]:
        """Yield the lines that a process with a pipe writes until it ends.

        Raises:
            ProcessError: a process has failed.
        """
        out = piped.process.stdout
        assert out is not None
        rest = b""
        while True:
            while not select([out], [], [], CHECK_PERIOD)[0]:
                self.check()
            new = os.read(out.fileno(), 65536)
            if not new:
                break
            *lines, rest = (rest + new).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in lines)
        piped.process.wait()
        self.check()

    def stop(self) -> None:
        """End all processes by SIGINT, and after the grace period by SIGKILL."""
        try:
            for each in self._processes:
                each.signal(signal.SIGINT)
            end = time.monotonic() + GRACE
            for each in self._processes:
                with suppress(subprocess.TimeoutExpired):  # it is killed below
                    each.process.wait(max(0.0, end - time.monotonic()))
        finally:  # even if interrupted again
            for each in self._processes:
                each.signal(signal.SIGKILL)
            for each in self._processes:
                each.process.wait()
                if each.process.stdout is not None:
                    each.process.stdout.close()
            self._processes.clear()


def start_arm(group: ProcessGroup, parameters: Parameters, controller: str | None, given: GivenParameters) -> None:
    """Start a simulator and a controller that close the loop.

    Args:
        group: the group that they join.
        parameters: name → value, for both.
        controller: name of the control law; that of the files unless given.
        given: files and values that override the others; in lockstep the simulator takes the commands that have stamps.
    """
    files, values = given
    simulator = {**parameters, **values.get("simulator", {})}
    topic = "joint_commands" if simulator.get("lockstep") else "commands"
    group.start("simulator", simulator, files, {topic: f"controller/{topic}"})
    law = {"controller": controller} if controller else {}
    group.start("controller", {**parameters, **law, "use_sim_time": True, **values.get("controller", {})}, files)
