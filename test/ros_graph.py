# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ROS 2 graph of one's own for a test: real processes over real DDS, cut off from every other graph.

Nothing here sleeps: what is waited for is an event or a deadline, and a deadline is an error that says what did not
come.
"""

import contextlib
import faulthandler
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import forked_workers
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from fork_server import NODES, Forked, ForkServer, command_server
from joined_graph import joined
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from robodyn_ros.nodes.common.executor import announce_often


@functools.cache
def server() -> ForkServer:
    """The server that forks the nodes of this test process; it ends with it."""
    return ForkServer(NODES)


COMMAND = "robodyn"

STARTER = "robodyn_ros.nodes.start"
"""The module that runs a node by its name."""

DEADLINE = 60.0
"""How long anything may take unless said otherwise: a loaded machine, not a slow program [s]."""

GRACE = 20.0
"""How long a process may take to end when it is asked to [s]."""

HANGS = 60.0
"""After what time this process does not leave the graph at all [s]."""

AGAIN = 1.0
"""After what time a node is asked again whether it answers [s]."""

FORGETS = 1.0
"""How long it may take until a participant that has left is forgotten [s]."""

RESTS = 5
"""How many times in a row the threads of the middleware must be found asleep."""


REALTIME = os.environ.get("ROBODYN_REALTIME", "")
"""The parameter ``realtime`` of every controller that is told nothing else: ``make test-realtime`` sets it."""


class Process:
    """A running node, or the command ``robodyn``.

    Attributes:
        name: what it is called in messages.
        pid: its process id.
    """

    def __init__(self, name: str, command: list[str], folder: Path, server: ForkServer | None) -> None:
        """Start a module or a script, by fork if there is a server; what it prints goes to files in the folder."""
        self.name, (module, *words) = name, command
        self._paths = [folder / f"{name}-{time.monotonic_ns()}.{stream}" for stream in ("out", "err")]
        self._process: subprocess.Popen[bytes] | Forked
        env, (typed, keyboard) = dict(os.environ), os.pipe()
        self._keyboard = os.fdopen(keyboard, "wb", buffering=0)
        with open(self._paths[0], "w") as out, open(self._paths[1], "w") as err:
            if server is not None and server.serves(env):
                self._process = server.start(module, words, env, [out.fileno(), err.fileno(), typed])
            else:
                started = [sys.executable, *([] if module.endswith(".py") else ["-m"]), module, *words]
                self._process = subprocess.Popen(started, env=env, stdout=out, stderr=err, stdin=typed)
        os.close(typed)
        self.pid = self._process.pid
        self._killed = name == COMMAND  # it ends when it likes, and with the code that it likes

    @property
    def code(self) -> int | None:
        """Exit code, None while it runs."""
        return self._process.poll()

    @property
    def failed(self) -> bool:
        """Whether it ended badly, and not because it was killed here."""
        return not self._killed and self.code not in (None, 0)

    @property
    def said(self) -> tuple[str, str]:
        """All that it has printed, on stdout and on stderr."""
        out, err = (path.read_text() for path in self._paths)
        return out, err

    @property
    def output(self) -> str:
        """The same in one."""
        return "".join(self.said)

    def type(self, text: str) -> None:
        """Type something for it to read."""
        self._keyboard.write(text.encode())

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def ended(self, deadline: float = DEADLINE) -> int:
        """Wait for its end; the exit code."""
        return self._process.wait(deadline)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it with a signal, and see that it ended well."""
        self.send(number)
        code = self.ended()
        assert code == 0, f"{self.name} ended with code {code} on {number.name}:\n{self.output}"
        assert "Traceback" not in self.output and "terminate called" not in self.output, self.output

    def ask(self) -> None:
        """Ask it to end, if it still runs."""
        self._killed = True
        if self.code is None:
            self._process.terminate()

    def kill(self, after: float = 0.0) -> None:
        """End it without asking, if it still runs after a time [s]."""
        self._killed = True
        try:
            self._process.wait(after)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._keyboard.close()


class Graph:
    """Processes, and a node of the test's own to talk to them, in the domain that the environment names.

    Attributes:
        node: the test's own node.
        fresh: start nodes as new processes, and not by fork: for what depends on how a process starts, or ends.
        state_rate: of simulators that are told nothing else: the same behaviour with fewer messages than by default
            [Hz]; 0 for the default.
        diagnostics_rate: of controllers and simulators that are told nothing else: tests wait for it [Hz]; 0 for the
            default.
        frequency: natural frequency of the PRR arm under controllers that are told nothing else: late states of a busy
            machine carry it [rad/s]; 0 for the default.
    """

    fresh = False
    state_rate = 200.0
    diagnostics_rate = 20.0
    frequency = 10.0

    def __init__(self, folder: Path) -> None:
        """
        Args:
            folder: for files.
        """
        self._folder = folder
        announce_often()
        self._processes: list[Process] = []
        self._context = Context()
        rclpy.init(context=self._context, args=[])
        # No services of its own: each would be found by all other nodes, and looked at whenever this one waits.
        self.node = Node("test", context=self._context, enable_rosout=False, start_parameter_services=False)
        # The EventsExecutor takes less of the processor, but it may crash when clients and subscriptions come and go
        # (rclpy issues 1641 and 1644), as they do in tests.
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def start(self, name: str, *arguments: str, via: list[str] | None = None, **parameters: Any) -> Process:
        """Start one of the package's nodes.

        Args:
            name: ``controller`` or ``simulator``.
            arguments: ROS arguments, such as ``-r``, ``a:=b``.
            via: a script with arguments that runs the module named behind them.
            parameters: of the node; a dict is a group of parameters.
        """
        if name == "controller" and REALTIME:
            parameters.setdefault("realtime", REALTIME)
        if (
            name == "controller"
            and self.frequency
            and 'name="elevator"' in parameters.get("robot_description", 'name="elevator"')
        ):
            parameters["gains"] = parameters.get("gains", {})
            for joint in ("elevator", "shoulder", "wrist"):
                parameters["gains"].setdefault(joint, {}).setdefault("natural_frequency", self.frequency)
        if name in ("controller", "simulator") and self.diagnostics_rate:
            parameters.setdefault("diagnostics_rate", self.diagnostics_rate)
        if name == "simulator" and self.state_rate:
            parameters.setdefault("state_rate", self.state_rate)
        path = self._folder / f"{name}-{len(self._processes)}.yaml"
        path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
        given = ["--ros-args", "--params-file", str(path), *arguments]
        return self._run(name, [*(via or []), STARTER, name, *given], None if self.fresh else server())

    def start_arm(
        self, urdf: str, simulator: dict[str, Any] | None = None, *, lockstep: bool = False, **controller: Any
    ) -> tuple[Process, Process]:
        """Start a simulator of an arm and the controller that it listens to; both with parameters.

        Args:
            urdf: the arm.
            simulator: parameters of the simulator.
            lockstep: the simulator waits for the commands.
            **controller: parameters of the controller.
        """
        topic = "joint_commands" if lockstep else "commands"
        given = {"robot_description": urdf, "lockstep": lockstep} | (simulator or {})
        started = self.start("simulator", "-r", f"{topic}:=controller/{topic}", **given)
        return started, self.start("controller", robot_description=urdf, use_sim_time=True, **controller)

    def command(self, *arguments: object) -> Process:
        """Start the command ``robodyn``."""
        return self._run(COMMAND, ["robodyn_ros.cli.main", *map(str, arguments)], command_server())

    def _run(self, name: str, command: list[str], by: ForkServer | None) -> Process:
        self._processes.append(Process(name, command, self._folder, by))
        return self._processes[-1]

    def ended(self, process: Process, deadline: float = DEADLINE) -> int | None:
        """Handle events until a process has ended; its exit code."""
        self.wait(lambda: process.code is not None, f"the end of {process.name}", deadline)
        return process.code

    def wait(self, condition: Callable[[], Any], what: str, deadline: float = DEADLINE) -> None:
        """Handle events until the condition holds.

        Raises:
            AssertionError: it does not within the deadline [s], or a process fails; what they printed is shown.
        """
        end = time.monotonic() + deadline
        while not condition():
            failed = [process.name for process in self._processes if process.failed]
            if failed or time.monotonic() > end:
                why = f"{failed} failed" if failed else f"{deadline:g} s were over"
                said = "\n".join(f"--- {p.name} (code {p.code})\n{p.output}" for p in self._processes)
                raise AssertionError(f"{why} before there was: {what}\n{said}\n{self._diagnosed()}")
            self.spin_once()

    def _diagnosed(self) -> str:
        """The diagnostics that come within a second, the latest of each node."""
        latest: dict[str, DiagnosticStatus] = {}
        self.node.create_subscription(
            DiagnosticArray, "/diagnostics", lambda array: latest.update((s.name, s) for s in array.status), 10
        )
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            self.spin_once()
        return "\n".join(
            f"--- diagnostics of {name}: {status.message}; {', '.join(f'{x.key}: {x.value}' for x in status.values)}"
            for name, status in latest.items()
        )

    def send(
        self, publisher: Any, message: Any, until: Callable[[], Any], what: str, deadline: float = DEADLINE
    ) -> None:
        """Publish a message again and again until a condition holds: the first ones may be lost."""
        self.wait(lambda: publisher.publish(message) or until(), what, deadline)

    def spin_once(self, timeout: float = 0.05) -> None:
        """Handle one event, or wait so long for one [s]."""
        self._executor.spin_once(timeout_sec=timeout)

    def listen(self, kind: type[Any], topic: str, qos: Any = 10) -> list[Any]:
        """A list that grows with the messages of a topic."""
        messages: list[Any] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def has(self, node: str) -> bool:
        """Whether a node is there, by a service that each has.

        On a busy machine the list of the names of nodes may lack one for good, for one message has it.
        """
        return any(name == f"/{node}/get_parameters" for name, _ in self.node.get_service_names_and_types())

    def talk(self, kind: type[Any], topic: str, qos: Any = 10) -> Any:
        """A publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.wait(publisher.get_subscription_count, f"a subscriber of {topic}")
        self._introduce(topic.rpartition("/")[0])
        return publisher

    def call(self, kind: type[Any], name: str, deadline: float = DEADLINE, **fields: Any) -> Any:
        """Call a service; its answer."""
        client = self.client(kind, name, deadline)
        future = client.call_async(kind.Request(**fields))
        self.wait(future.done, f"an answer of {name}", deadline)
        self.node.destroy_client(client)
        return future.result()

    def client(self, kind: type[Any], name: str, deadline: float = DEADLINE) -> Any:
        """A client of a service whose answers will reach it."""
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, f"the service {name}", deadline)
        self._introduce(name.rpartition("/")[0], deadline)
        return client

    def _introduce(self, node: str, deadline: float = DEADLINE) -> None:
        """Wait until a node has found what this one has made; not if it is none with parameters.

        DDS tells a client or publisher that it has found a service or subscriber, but not that this has found it, and
        what is sent before is lost. A node finds the ends of another in the order in which they were made. So a node
        that answers a later client, which may ask again and again, has found all before.
        """
        later = self.node.create_client(GetParameters, f"{node}/get_parameters")
        end, asked = time.monotonic() + deadline * later.service_is_ready(), list[Any]()
        while not any(future.done() for future in asked) and time.monotonic() < end:
            asked.append(later.call_async(GetParameters.Request()))
            again = time.monotonic() + AGAIN
            self.wait(lambda last=asked[-1], again=again: last.done() or time.monotonic() > again, "an answer")
        self.node.destroy_client(later)

    def set(self, node: str, **parameters: Any) -> list[Any]:
        """Set parameters of a node one by one, with two underscores for a dot; the results."""
        messages = [
            Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in parameters.items()
        ]
        return self.call(SetParameters, f"{node}/set_parameters", parameters=messages).results

    def get(self, node: str, *names: str) -> list[Any]:
        """The values of parameters of a node; None for one that it does not have."""
        values = self.call(GetParameters, f"{node}/get_parameters", names=names).values
        return [parameter_value_to_python(value) for value in values]

    def count(self, node: str, kind: str) -> int:
        """How often a node has counted something, by its next diagnostics."""
        return int(self.diagnostics(node).get(kind, 0))

    def diagnostics(self, node: str, deadline: float = DEADLINE) -> dict[str, str]:
        """What a node says in its next diagnostics, with its message and level under these keys."""
        found: list[dict[str, str]] = []

        def keep(message: DiagnosticArray) -> None:
            found.extend(
                {"message": status.message, "level": str(status.level[0])}
                | {item.key: item.value for item in status.values}
                for status in message.status
                if status.name == f"/{node}"
            )

        subscription = self.node.create_subscription(DiagnosticArray, "/diagnostics", keep, 10)
        self.wait(lambda: found, f"diagnostics of {node}", deadline)
        self.node.destroy_subscription(subscription)
        return found[0]

    def _forget_others(self) -> None:
        """Wait until the middleware knows of no other participant, but not for one that was killed: that takes long."""
        end = time.monotonic() + FORGETS
        while set(self.node.get_node_names()) - {self.node.get_name()} and time.monotonic() < end:
            time.sleep(0.002)

    @staticmethod
    def _let_rest() -> None:
        """Wait until the threads of the middleware sleep: on a busy machine one may be in the middle of something."""
        end, found = time.monotonic() + FORGETS, 0
        while found < RESTS and time.monotonic() < end:
            time.sleep(0.002)
            stats = []
            for path in Path("/proc/self/task").glob("*/stat"):
                with contextlib.suppress(OSError):  # of a thread that has ended meanwhile
                    stats.append(path.read_text())
            states = {text.rpartition(")")[2].split()[0] for text in stats if "(dds." in text}
            found = found + 1 if states <= {"S"} else 0

    def close(self) -> None:
        """End every process, and leave the graph.

        They are asked to end before they are killed: Fast DDS may bring down this process as well, in its shared-memory
        transport, when another that it shares memory with is killed while this one leaves.
        """
        for process in self._processes:
            process.ask()
        for process in self._processes:
            process.kill(after=GRACE)
        # Fast DDS can hang here, too, when another participant is lost at that moment (issue 6502 of it), and keep
        # the interpreter locked. So those that have left are forgotten first, and what the middleware does about that
        # is done; and if it hangs nevertheless, this thread of C says where, and ends the process.
        self._forget_others()
        self._let_rest()
        forked_workers.tell_leaving(True)
        faulthandler.dump_traceback_later(HANGS, exit=True, file=int(os.environ.get("ROBODYN_STDERR", "2")))
        self._executor.remove_node(self.node)
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        faulthandler.cancel_dump_traceback_later()
        forked_workers.tell_leaving(False)


def nanoseconds(stamp: Any) -> int:
    """The time of a message [ns]."""
    return int(stamp.sec * 10**9 + stamp.nanosec)


def by_stamp(messages: list[Any]) -> dict[int, Any]:
    """Time [ns] → the message of that time."""
    return {nanoseconds(message.header.stamp): message for message in messages}


@contextlib.contextmanager
def own_graph(folder: Path) -> Iterator[Graph]:
    """A graph that no other meets, and that is gone afterwards, whatever happens."""
    with joined(ROS_LOG_DIR=str(folder)):
        made = Graph(folder)
        try:
            yield made
        finally:
            made.close()
