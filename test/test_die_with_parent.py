# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a process has started ends with it, even if it is killed and the other one is busy."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_ros.die_with_parent import dying_with_parent

BUSY = """
import os, sys

def main():
    print(os.getpid(), flush=True)
    while True:
        pass
"""
"""A module that never ends."""

COMMAND = """
import signal, subprocess, sys
from robodyn_ros.die_with_parent import dying_with_parent

subprocess.Popen(dying_with_parent([sys.executable, "-c", "import busy; busy.main()"]))
signal.pause()
"""

FORKED = """
import os, signal
from fork_server import ForkServer

server = ForkServer(())
server.start("busy", [], dict(os.environ), [1, 2])
signal.pause()
"""


@pytest.mark.parametrize("starter", [COMMAND, FORKED], ids=["command", "fork server"])
def test_a_busy_process_ends_with_the_one_that_started_it(starter: str, tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])}
    process = subprocess.Popen(
        [sys.executable, "-c", starter], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        busy = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            # The pipe ends when nobody is left who could write to it.
            assert process.communicate(timeout=60.0)[0] == ""
        except BaseException:
            os.kill(busy, signal.SIGKILL)
            raise


def test_a_program_can_let_go_when_its_parent_ends() -> None:
    program = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("let go")))
print("ready", flush=True)
signal.pause()
"""
    starter = f"""
import signal, subprocess, sys
from robodyn_ros.die_with_parent import dying_with_parent
subprocess.Popen(dying_with_parent([sys.executable, "-c", {program!r}], signal.SIGTERM))
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        assert process.stdout.read() == "let go\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux sends the signal")
def test_a_program_whose_parent_has_ended_already_does_not_run() -> None:
    command = dying_with_parent([sys.executable, "-c", "print('runs')"])
    here = command.index(str(os.getpid()))
    command[here] = str(2**22 + 1)  # above every process id of Linux
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
