# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's thread under ThreadSanitizer: states, efforts and requests at the same time, and nothing races."""

import os
import subprocess
from pathlib import Path

import pytest

from robodyn_ros.control.core_library import core_text
from robodyn_ros.engine.library import find_compiler

HERE = Path(__file__).parent
THREAD = HERE.parent / "robodyn_ros/nodes/controller/realtime/runner.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
FLAGS = ("-std=gnu11", "-g", "-O0", "-fsanitize=thread", *WARNINGS)


POSTED = "  STORE(r->request, request);\n"
ELSEWHERE = "ELSEWHERE"
"""The variable of the environment with which requests are done by the thread that asks."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The thread with a middleware of a few lines, as a program."""
    folder, compiler = tmp_path_factory.mktemp("thread"), find_compiler()
    thread = THREAD.read_text(encoding="utf-8")
    assert POSTED in thread
    thread = thread.replace(POSTED, f'{POSTED}  if (getenv("{ELSEWHERE}")) r->carry_out(r->core, request);\n')
    done = compiled(folder, thread, (*compiler.command, *FLAGS))
    if "cannot find" in done.stderr and "tsan" in done.stderr:
        pytest.skip("the compiler of this machine has no ThreadSanitizer")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "all"


def compiled(folder: Path, thread: str, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Compile it to ``all`` in the folder."""
    head = "#define _GNU_SOURCE\n#define CORE_JOINTS 2\n#include <stdlib.h>\n"
    driver = (HERE / "thread_under_sanitizer.c").read_text(encoding="utf-8")
    (folder / "all.c").write_text(f"{head}{core_text()}\n{thread}\n{driver}", encoding="utf-8")
    whole = [*command, str(folder / "all.c"), "-o", str(folder / "all"), "-lm", "-lpthread"]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


def run(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    env = os.environ | environment
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=100.0, env=env)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this kernel's address layout is none that ThreadSanitizer takes")
    return done


def test_states_and_requests_race_nowhere(program: Path) -> None:
    done = run(program)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("4000 states, 4000 efforts")


def test_a_request_that_is_done_elsewhere_would_be_seen_to_race(program: Path) -> None:
    """The same with requests done by the thread that asks: so the test above can fail."""
    done = run(program, TSAN_OPTIONS="halt_on_error=1", **{ELSEWHERE: "1"})
    assert "WARNING: ThreadSanitizer: data race" in done.stderr
