# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An isolated worker: a process that runs chunks of cases, which may hang or crash without harm to any other process.

    python -m robodyn_ros.simulation.sweeps.worker

reads pickled studies and chunks from its standard input and writes pickled rows to its standard output. It ends when
its input ends, and the kernel kills it when the process that started it ends, even in a case that hangs.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from typing import IO, Any

from robodyn_ros.die_with_parent import dying_with_parent
from robodyn_ros.errors import RobodynError
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows, lost_rows, run_chunk
from robodyn_ros.simulation.sweeps.study import Study

GRACE = 60.0
"""Time for a chunk beyond the time limits of its cases [s]: to start the process and to compile the arm."""

ATTEMPTS = 2
"""Attempts at a single case whose process ends, before that is its result."""


class WorkerError(RobodynError):
    """A worker process ended or did not answer; the message says how."""


class IsolatedWorker:
    """A worker process, which is started when it is needed, and again after it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._study = ""
        self._cancelled = False

    def run(self, study: Study, chunk: Chunk) -> Rows:
        """Run the cases of a chunk.

        Raises:
            RobodynError: the study's URDF is wrong.
            CancelledError: :meth:`end` was called.
        """
        try:
            return self._ask(study, chunk)
        except WorkerError:  # one of the cases may be the reason, so each runs alone
            return [row for case in chunk.cases() for row in self._run_one(study, case)]

    def end(self) -> None:
        """End the process for good; a call that waits for an answer raises CancelledError."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _run_one(self, study: Study, case: Chunk) -> Rows:
        for _ in range(ATTEMPTS):
            try:
                return self._ask(study, case)
            except WorkerError as problem:
                reason = str(problem)
        return lost_rows(study, case, reason)

    def _ask(self, study: Study, chunk: Chunk) -> Rows:
        digest = study.digest
        try:
            if self._process is None:
                self._process, self._study = _start(), ""
            if self._cancelled:
                raise CancelledError
            assert self._process.stdin is not None and self._process.stdout is not None
            _write(self._process.stdin, (None if digest == self._study else study, chunk))
            self._study = digest
            deadline = time.monotonic() + GRACE + chunk.size * study.limits.case_timeout
            answer = _read(self._process.stdout, deadline)
        except (OSError, EOFError, TimeoutError) as cause:
            reason = self._failure(cause)
            self._close()
            if self._cancelled:
                raise CancelledError from cause
            raise WorkerError(reason) from cause
        except BaseException:  # Ctrl-C: the answer must not be taken for that of the next chunk
            self._close()
            raise
        if isinstance(answer, Exception):
            raise answer
        rows: Rows = answer
        return rows

    def _failure(self, cause: BaseException) -> str:
        assert self._process is not None
        if isinstance(cause, TimeoutError):
            return "out of time: its process did not answer"
        code = self._process.wait()
        return f"its process ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended ({code})"


def _start() -> subprocess.Popen[bytes]:
    command = dying_with_parent([sys.executable, "-m", __name__])
    # A session of its own: Ctrl-C in the terminal is for the parent process only.
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)


def _write(pipe: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    rest = memoryview(len(data).to_bytes(8, "little") + data)
    while rest:
        rest = rest[pipe.write(rest) :]


def _read(pipe: IO[bytes], deadline: float = float("inf")) -> Any:
    return pickle.loads(_bytes(pipe, int.from_bytes(_bytes(pipe, 8, deadline), "little"), deadline))


def _bytes(pipe: IO[bytes], count: int, deadline: float) -> bytes:
    found = b""
    while len(found) < count:
        if deadline < float("inf"):
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
        part = pipe.read(count - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of plugins goes to standard error
    questions = os.fdopen(0, "rb", buffering=0)
    study: Study | None = None
    while True:
        try:
            given, chunk = _read(questions)
        except EOFError:
            return
        study = given or study
        assert study is not None
        answer: Any
        try:
            answer = run_chunk(study, chunk)
        except Exception as problem:  # raised again in the parent process
            answer = problem
        try:
            _write(answers, answer)
        except BrokenPipeError:  # the parent process has ended
            return


if __name__ == "__main__":
    main()
