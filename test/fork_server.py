# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the package's nodes and its command by fork, so that a test does not wait until each process has imported all.

A server is a process that has imported what its children import, and has done nothing else: no context, no thread. For
each request it forks; the child takes over the folder, the environment, the arguments and the output files of the
request, and runs the module's ``main`` as ``python -m`` would, or a script. What ``PYTHONPATH`` adds comes first on the
path, plugins that are installed there included. How children end is told through the same socket.

Processes that the test process has forked use its server, each through a socket of its own. When one of them ends, the
server kills the children that it has started. The kernel kills the server when the test process ends, whatever ends
that, and its children when the server ends.

What a start by itself is like is tested where it matters, by processes that start afresh (``Graph.start(..., fresh)``).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from robodyn_ros import plugins
from robodyn_ros.cli.main import VERBS
from robodyn_ros.die_with_parent import dying_with_parent, end_with_parent

NODES = tuple(
    f"robodyn_ros.nodes.{name}"
    for name in ("start", "controller.node", "simulator.node", "conductor", "commissioner", "markers", "planner")
)
"""What the server of nodes imports ahead."""

COMMAND = ("casadi", "pytest", "robodyn_ros.cli.main", *(f"robodyn_ros.cli.{verb}" for verb in VERBS))
"""What the server of the command imports ahead."""

INHERITED = ("PYTHONHOME", "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "AMENT_PREFIX_PATH")
"""Variables that count when a process starts: with others than the server's own a node starts afresh."""


class Forked:
    """A process that the server has forked, with the methods of :class:`subprocess.Popen` that tests use."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the signal's number; None while it runs."""
        self._server.listen(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = 1.0 if end is None else end - time.monotonic()
            if left <= 0.0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            self._server.listen(left)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The server, as the tests see it, and as processes see it that are forked from theirs."""

    def __init__(self, ahead: tuple[str, ...]) -> None:
        """
        Args:
            ahead: modules that it imports.
        """
        self._environment = {name: os.environ.get(name) for name in INHERITED}
        self._reception, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process_id = 0
        command = dying_with_parent([sys.executable, __file__, str(other.fileno()), *ahead])
        self._process = subprocess.Popen(command, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)
        other.close()

    def serves(self, environment: dict[str, str]) -> bool:
        """True if a fork has the environment that a new process would have."""
        return all(environment.get(name) == value for name, value in self._environment.items())

    def start(
        self, module: str, arguments: list[str], environment: dict[str, str], files: list[int], folder: str = ""
    ) -> Forked:
        """Run a module, or a script, in a folder (default: this process's) with open files for its output.

        They are those of stdout and stderr and, if there is a third one, of stdin.
        """
        self._connect()
        wanted = {"module": module, "arguments": arguments, "environment": environment, "folder": folder or os.getcwd()}
        request = json.dumps(wanted).encode()
        socket.send_fds(self._socket, [len(request).to_bytes(4, "big") + request], files)
        self._started: Forked | None = None
        while self._started is None:
            self.listen(None)
        return self._started

    def _connect(self) -> None:
        """Have the server listen to this process."""
        if self._process_id == os.getpid():
            return
        self._socket, other = socket.socketpair()
        socket.send_fds(self._reception, [b"new"], [other.fileno()])
        other.close()
        self._process_id, self._buffer = os.getpid(), b""
        self._running: dict[int, Forked] = {}  # of each process id: it is another's once a process has ended

    def listen(self, timeout: float | None) -> None:
        """Take in what the server says, waiting for it so long at most [s]."""
        ready, _, _ = select.select([self._socket], [], [], timeout)
        if not ready:
            return
        data = self._socket.recv(65536)
        if not data:
            raise RuntimeError("the server has ended")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            kind, pid, *code = line.split()
            if kind == b"started":
                self._started = self._running[int(pid)] = Forked(self, int(pid))
            else:
                self._running.pop(int(pid)).returncode = int(code[0])

    def close(self) -> None:
        """End the server, and with it its children."""
        self._process.kill()
        self._process.wait(10.0)
        self._reception.close()
        if self._process_id == os.getpid():
            self._socket.close()


@functools.cache
def command_server() -> ForkServer:
    """The server that forks the command ``robodyn`` for this test process; it ends with it."""
    return ForkServer(COMMAND)


def run_module(
    module: str, *arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = 100.0
) -> subprocess.CompletedProcess[str]:
    """Run a module as a process without a terminal, by fork, as :func:`subprocess.run` would run ``python -m``."""
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = command_server().start(
            module, words, dict(env or os.environ), [out.fileno(), err.fileno()], str(cwd or "")
        )
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            raise
        said = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, err)]
    return subprocess.CompletedProcess([module, *words], code, *said)


robodyn = functools.partial(run_module, "robodyn_ros.cli.main")
"""Runs the command ``robodyn``."""


def serve(reception: socket.socket, ahead: list[str]) -> None:
    """The server's own loop, until nobody is left; in a child it returns when the arguments are set."""
    for name in ahead:
        import_module(name)
    prepare_logging_and_messages()
    for kind in ("dynamics", "controllers", "integrators"):
        for name in plugins.available(kind):
            plugins.load(kind, name)
    gc.collect()
    gc.freeze()
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connections: dict[socket.socket, set[int]] = {}  # of each: the children that run
    while True:
        ready, _, _ = select.select([reception, reader, *connections], [], [])
        if reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(reader, 4096)
            _reap(connections)
        if reception in ready:
            said, files, _, _ = socket.recv_fds(reception, 16, 1)
            if not said:
                os._exit(0)
            connections[socket.socket(fileno=files[0])] = set()
        for connection in [one for one in connections if one in ready]:
            if _request(connection, connections):
                for each in (reception, *connections):
                    each.close()
                for end in (reader, writer):
                    os.close(end)
                return


def prepare_logging_and_messages() -> None:
    """Have rclpy do here what it would do in each child: 0.3 s of the processor, half of a node's start.

    Its loggers ask where they are called from. The first time, Python looks at the files of all modules for that. And
    the C part of a package of messages is imported when the first of its messages is used.
    """
    if "rclpy" not in sys.modules:
        return
    inspect.getmodule(sys._getframe())
    support = import_module("rosidl_generator_py").import_type_support
    for package in {
        name.removesuffix(".msg") for name in sys.modules if name.count(".") == 1 and name.endswith(".msg")
    }:
        support(package)


def _reap(connections: dict[socket.socket, set[int]]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            for connection, children in connections.items():
                if ended[0] in children:
                    children.remove(ended[0])
                    with contextlib.suppress(BrokenPipeError):
                        connection.sendall(f"ended {ended[0]} {os.waitstatus_to_exitcode(ended[1])}\n".encode())


def _request(connection: socket.socket, connections: dict[socket.socket, set[int]]) -> bool:
    """Fork for a request; True in the child."""
    head = b""
    with contextlib.suppress(ConnectionResetError):
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
    if not head:  # whoever asked is gone
        for child in connections.pop(connection):
            os.kill(child, signal.SIGKILL)
        connection.close()
        return False
    length, body = int.from_bytes(head, "big"), b""
    while len(body) < length:
        body += connection.recv(length - len(body))
    request: dict[str, Any] = json.loads(body)
    server, pid = os.getpid(), os.fork()
    if pid:
        for file in files:
            os.close(file)
        connections[connection].add(pid)
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(f"started {pid}\n".encode())
        return False
    end_with_parent(server)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for file, place in zip(files, (1, 2, 0), strict=False):
        os.dup2(file, place)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    if added:
        sys.path[1:1] = added
        plugins._found.cache_clear()
    sys.argv = [request["module"], *request["arguments"]]
    return True


def main() -> int:
    """Serve, and in a child run the module or the script."""
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    name = sys.argv[0]
    if name.endswith(".py"):
        sys.path[0] = str(Path(name).parent)
        runpy.run_path(name, run_name="__main__")
        return 0
    code: int = import_module(name).main()
    return code


def leave(code: int) -> NoReturn:
    """End a child without the destructors of C libraries: LTTng's cancels threads that only the server has."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # as `python -m` has it
    try:
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    leave(code)
