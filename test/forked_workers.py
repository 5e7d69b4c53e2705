# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs tests in several processes that are forked once all tests are collected: ``pytest --workers 4``.

Each worker of pytest-xdist imports and collects every test itself. For the tests of this project that took 6 to 13 s of
the processor in each of four workers, and more where nothing was compiled yet; here it is done once.

A worker that is free takes the next file, so that what a file makes for its tests is made once, or with
``--share test`` the next test. What is marked ``alone`` runs at the end, in one process, while nothing else does. If a
worker dies, the test that it ran has failed, and another worker runs the rest.
"""

import os
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Sequence
from itertools import count, groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest
from fork_server import leave

from robodyn_ros.die_with_parent import end_with_parent

PATIENCE = 30.0
"""How long a worker may take to end once it has nothing to do [s]."""

WORKER = "ROBODYN_TEST_WORKER"
"""The variable of the environment that has the number of the worker in it."""


def add_options(parser: pytest.Parser) -> None:
    """The options of this plugin."""
    group = parser.getgroup("workers")
    group.addoption("--workers", default="1", help='how many processes run tests; "auto" is two for each processor')
    group.addoption("--share", choices=("file", "test"), default="file", help="what a worker takes at once")


def configure(config: pytest.Config) -> None:
    """Use this plugin if there is more than one worker."""
    # Two for each processor, for tests of nodes mostly wait.
    given = config.getoption("workers")
    number = 2 * len(os.sched_getaffinity(0)) if given == "auto" else int(given)
    if number > 1:
        config.pluginmanager.register(Workers(number, config.getoption("share")), "forked workers")


class Worker:
    """A worker as the process sees it that has forked it.

    Attributes:
        connection: to it.
        given: the tests that it has and has not finished, the one that runs first.
        share: the tests of its share that it has not got yet.
        over: it has run all that it was given.
        told: the test of which it has told what came of its call.
        leaves: it is leaving the middleware, in which it may hang for good.
    """

    def __init__(self, session: pytest.Session, number: int) -> None:
        """Fork."""
        self.given: deque[int] = deque()
        self.share: deque[int] = deque()
        self.over = self.leaves = False
        self.told = ""
        self.connection, other = Pipe()
        parent, self._pid = os.getpid(), os.fork()
        if self._pid == 0:
            end_with_parent(parent)
            self.connection.close()
            run_worker(session, other, number)
        other.close()

    def end(self) -> str:
        """Wait until it has ended, which it does when the connection is closed; how it ended."""
        self.connection.close()
        ended = os.pidfd_open(self._pid)
        if not wait([ended], PATIENCE):
            os.kill(self._pid, signal.SIGKILL)
        os.close(ended)
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return f"ended with code {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"


class Workers:
    """The plugin: runs the tests of a session."""

    def __init__(self, number: int, share: str) -> None:
        """
        Args:
            number: of workers.
            share: ``file`` or ``test``.
        """
        self._number, self._share = number, share
        self._numbers = count()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Instead of pytest's own loop, which says what is wrong with tests that cannot be collected."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
        terminal.showfspath = False  # one file is not finished before the next one begins
        items = session.items
        shares: tuple[deque[deque[int]], ...] = (deque(), deque())
        for _, share in groupby(range(len(items)), lambda k: items[k].path if self._share == "file" else k):
            kinds: tuple[deque[int], ...] = (deque(), deque())
            for k in share:
                kinds[items[k].get_closest_marker("alone") is not None].append(k)
            for kind, found in zip(shares, kinds, strict=True):
                kind.extend([found] if found else [])
        self._run(session, shares[0], self._number)
        self._run(session, shares[1], 1)
        return True

    def _run(self, session: pytest.Session, shares: deque[deque[int]], number: int) -> None:
        """Have workers run shares of the tests."""
        workers: dict[object, Worker] = {}

        def fork() -> None:
            worker = Worker(session, next(self._numbers))
            workers[worker.connection] = worker

        try:
            for _ in range(min(number, len(shares))):
                fork()
            while workers:
                for connection in wait(list(workers)):  # type: ignore[arg-type]
                    worker = workers[connection]
                    try:
                        self._hear(session, worker, shares)
                    except (EOFError, ConnectionError):
                        del workers[connection]
                        self._see_off(session, worker, shares)
                        if shares and not worker.over:
                            fork()
        finally:
            for worker in workers.values():  # of a run that is interrupted
                worker.end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _hear(self, session: pytest.Session, worker: Worker, shares: deque[deque[int]]) -> None:
        """Take in what a worker says.

        Raises:
            EOFError, ConnectionError: it has ended.
        """
        kind, content = worker.connection.recv()
        hook = session.config.hook
        if kind == "next":
            worker.connection.send(self._next(session, worker, shares))
        elif kind == "done":
            worker.given.popleft()
        elif kind == "over":
            worker.over = True
        elif kind == "leaves":
            worker.leaves = content
        elif kind == "report":
            report = hook.pytest_report_from_serializable(config=session.config, data=content)
            worker.told = report.nodeid if report.when == "call" else worker.told
            hook.pytest_runtest_logreport(report=report)
        else:
            text, category, file, line, when, nodeid, location = content
            made = warnings.WarningMessage(text, type(category, (Warning,), {}), file, line)
            given = {"warning_message": made, "when": when, "nodeid": nodeid, "location": location}
            hook.pytest_warning_recorded.call_historic(kwargs=given)

    @staticmethod
    def _next(session: pytest.Session, worker: Worker, shares: deque[deque[int]]) -> int | None:
        """The next test of a worker."""
        if session.shouldfail or session.shouldstop:
            shares.clear()
            return None
        if not worker.share and shares:
            worker.share = shares.popleft()
        if not worker.share:
            return None
        worker.given.append(worker.share.popleft())
        return worker.given[-1]

    @staticmethod
    def _see_off(session: pytest.Session, worker: Worker, shares: deque[deque[int]]) -> None:
        """A worker has ended. If it was not its time, the test that it ran has failed, and others run the rest.

        What came of a test is known once its call is over. If its process hangs afterwards in the middleware that it
        leaves (Fast DDS, issue 6502), that is none of the test's, and a warning.
        """
        how = worker.end()
        if worker.over:
            return
        if not worker.given:
            raise RuntimeError(f"a worker {how} between two tests")
        item = session.items[worker.given.popleft()]
        text = f"the process that ran this test {how}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        if worker.leaves and worker.told == item.nodeid:
            text += " while it left the middleware, after the test"
            made = warnings.WarningMessage(UserWarning(text), UserWarning, str(item.path), item.location[1] or 0)
            given = {"warning_message": made, "when": "runtest", "nodeid": item.nodeid, "location": None}
            session.config.hook.pytest_warning_recorded.call_historic(kwargs=given)
            report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "teardown")
        session.config.hook.pytest_runtest_logreport(report=report)
        shares.extend(share for share in (worker.given, worker.share) if share)


class Reports:
    """The plugin that takes the terminal's place in a worker: tells what comes of the tests."""

    def __init__(self, connection: Connection, config: pytest.Config, terminal: Any) -> None:
        """
        Args:
            connection: to the process that has forked this one.
            config: of the session.
            terminal: the plugin whose place this one takes.
        """
        self._connection, self._config = connection, config
        self._begun = False
        self._tw = terminal._tw  # Config.get_terminal_writer, of which pytest-timeout asks where to write

    def begin(self) -> None:
        """Tell of warnings from now on; pytest repeats those that there were before, and others have told of them."""
        self._begun = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell what came of a phase of a test."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: object
    ) -> None:
        """Tell of a warning."""
        if not self._begun:
            return
        made = warning_message
        named = (str(made.message), made.category.__name__, made.filename, made.lineno)
        self._connection.send(("warning", (*named, when, nodeid, location)))


TOLD: list[Connection] = []
"""Whom this process reports to, if it is a worker."""


def tell_leaving(leaves: bool) -> None:
    """Tell that this process begins to leave the middleware, or that it has left."""
    for connection in TOLD:
        connection.send(("leaves", leaves))


def run_worker(session: pytest.Session, connection: Connection, number: int) -> None:
    """What a worker does: run the tests that it is given, until there is none; then end."""
    code = 0
    try:
        prepare(session, connection, number)
        run_tests(session, connection)
    except (EOFError, ConnectionError, KeyboardInterrupt):  # the run is interrupted
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    connection.close()
    leave(code)


def prepare(session: pytest.Session, connection: Connection, number: int) -> None:
    """Separate this process from the one that has forked it: its output, its temporary files, whom it reports to."""
    os.environ[WORKER] = str(number)
    TOLD[:] = [connection]
    manager = session.config.pluginmanager
    capture: Any = manager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    terminal = manager.unregister(name="terminalreporter")
    reports = Reports(connection, session.config, terminal)
    manager.register(reports, "terminalreporter")
    reports.begin()
    folders: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"worker-{number}"
    folders._basetemp.mkdir(mode=0o700)


def run_tests(session: pytest.Session, connection: Connection) -> None:
    """Run tests. Which one comes next is known before the one before it runs, so fixtures last as long as needed."""

    def ask() -> int | None:
        connection.send(("next", None))
        index: int | None = connection.recv()
        return index

    items: Sequence[pytest.Item] = session.items
    index = ask()
    try:
        while index is not None:
            following = ask()
            item, nextitem = items[index], None if following is None else items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            connection.send(("done", index))
            index = following
        connection.send(("over", None))
    finally:
        session._setupstate.teardown_exact(None)  # if it was interrupted there is something left
