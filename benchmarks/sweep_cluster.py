# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A sweep on a Dask cluster of real processes, whose parts are killed, started again, late, and on two hosts."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from robodyn_ros.simulation.sweeps.backends import cluster
from robodyn_ros.simulation.sweeps.runner import Rows
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.sweep import column, sweep

PORT = 18786

HOSTS = {"robodyn-a": "10.213.7.1", "robodyn-b": "10.213.7.2"}
"""Network namespaces, and their addresses."""


class Processes:
    """Scheduler and workers, each in a session of its own, so that all of it can be killed."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.running):
            self.kill(name)

    def scheduler(self, name: str, *before: str) -> None:
        """Start one."""
        self._start(name, *before, *_dask("scheduler"), "--host", self.host, "--port", str(PORT))

    def worker(self, name: str, *before: str) -> None:
        """Start one."""
        address = f"tcp://{self.host}:{PORT}"
        self._start(name, *before, *_dask("worker"), address, "--nthreads", "1", "--nworkers", "1", "--name", name)

    def kill(self, name: str) -> None:
        """End one without warning."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self, name: str, *command: str) -> None:
        self.running[name] = subprocess.Popen(
            [*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )


def survive(study: Study, expected: str) -> None:
    """A worker joins late, one is killed, the scheduler is killed and started again; the results are as expected."""
    with Processes() as processes, TemporaryDirectory() as folder:
        processes.scheduler("scheduler")
        processes.worker("first")
        todo = [
            (0.15, "a worker joins late", lambda: processes.worker("late")),
            (0.35, "a worker is killed", lambda: (processes.kill("first"), processes.worker("second"))),
            (0.60, "the scheduler is killed and started again", lambda: _restart(processes)),
        ]
        done = 0

        def told(before: int, rows: Rows) -> None:
            nonlocal done
            done += len(rows)
            if todo and done > todo[0][0] * study.size:
                _, what, action = todo.pop(0)
                print(f"  after {done} of {study.size} cases {what}", flush=True)
                action()

        file = sweep(study, Path(folder) / "out", cluster(f"tcp://127.0.0.1:{PORT}"), progress=told)
        assert not todo
        _report("one host, all that died", study, file, done, expected)


def two_hosts(study: Study) -> None:
    """A scheduler and a worker on one host, another worker on a second one; coordinator on the first."""
    with ExitStack() as stack, TemporaryDirectory() as folder:
        try:
            stack.callback(_unlink)
            _link()
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"two hosts: network namespaces are not permitted here: {problem}")
            return
        (first, address), (second, _) = HOSTS.items()
        processes = stack.enter_context(Processes(address))
        processes.scheduler("scheduler", "ip", "netns", "exec", first)
        for name in HOSTS:
            processes.worker(f"on-{name}", "ip", "netns", "exec", name)
        files = {}
        for name, here in (("cluster", ("ip", "netns", "exec", first)), ("local", ())):
            files[name] = Path(folder) / name
            where = ["--scheduler", f"tcp://{address}:{PORT}"] if name == "cluster" else []
            code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import sweep
from pathlib import Path
from robodyn_ros.simulation.sweeps.backends import Workers
from robodyn_ros.simulation.sweeps.backends import cluster
study = sweep.cases({study.size})
if {bool(where)}:
    sweep.sweep(study, Path({str(files[name])!r}), cluster("tcp://{address}:{PORT}"))
else:
    with Workers(2) as two:
        sweep.sweep(study, Path({str(files[name])!r}), two)
"""
            subprocess.run([*here, sys.executable, "-c", code], check=True)
        expected = _digest(files["local"] / "results.parquet")
        _report(f"two hosts, {first} and {second}", study, files["cluster"] / "results.parquet", study.size, expected)


def _report(what: str, study: Study, file: Path, done: int, expected: str) -> None:
    numbers = column(file, "case").tolist()
    once = numbers == list(range(study.size)) and done == study.size
    same = _digest(file) == expected
    print(f"{what}: every case once: {once}; the same file as from local workers: {same}", flush=True)
    assert once and same


def _restart(processes: Processes) -> None:
    processes.kill("scheduler")
    time.sleep(1.0)
    processes.scheduler("scheduler")
    processes.worker("third")  # the others end with the scheduler that they knew


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _dask(what: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.dask_{what}"]


def _link() -> None:
    (first, _), (second, _) = HOSTS.items()
    for name in HOSTS:
        _ip("netns", "add", name)
    _ip("link", "add", "rd-a", "netns", first, "type", "veth", "peer", "name", "rd-b", "netns", second)
    for (name, address), device in zip(HOSTS.items(), ("rd-a", "rd-b"), strict=True):
        _ip("-n", name, "address", "add", f"{address}/24", "dev", device)
        for each in (device, "lo"):
            _ip("-n", name, "link", "set", each, "up")


def _unlink() -> None:
    for name in HOSTS:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
