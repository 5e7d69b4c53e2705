# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tests that run in forked workers: all run once, and what comes of them is told as in one process."""

import os
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from textwrap import dedent

import pytest
from fork_server import ForkServer
from forked_workers import WORKER

CONFTEST = """
    import os, pathlib, sys

    sys.path.insert(0, {here!r})
    import forked_workers

    def pytest_addoption(parser):
        forked_workers.add_options(parser)

    def pytest_configure(config):
        config.addinivalue_line("markers", "alone: alone")
        forked_workers.configure(config)

    def pytest_runtest_logreport(report):
        if report.failed and forked_workers.WORKER not in os.environ:
            pathlib.Path("told").touch()
"""

FILES = {
    "test_first.py": """
        import os, pathlib, time, warnings
        import pytest

        FORKED_FROM = os.getpid()

        @pytest.fixture(scope="module")
        def made():
            with open("made", "a") as file:
                print(os.getpid(), file=file)
            yield os.getpid()
            with open("unmade", "a") as file:
                print(os.getpid(), file=file)

        @pytest.mark.parametrize("number", range(5))
        def test_shares(made, number, tmp_path):
            assert os.getpid() == made != FORKED_FROM
            assert os.getppid() == FORKED_FROM
            assert list(tmp_path.iterdir()) == []

        def test_fails():
            print("what it printed")
            assert 2 + 2 == 5

        def test_is_skipped():
            pytest.skip("for a reason")

        def test_warns():
            warnings.warn("beware", UserWarning)
    """,
    "test_second.py": """
        import os, signal
        import pytest

        def test_before():
            pass

        def test_dies():
            os.kill(os.getpid(), signal.SIGKILL)

        @pytest.mark.parametrize("number", range(3))
        def test_after(number):
            pass
    """,
    "test_third.py": """
        import os, pathlib, time
        import pytest

        @pytest.mark.alone
        def test_alone():
            assert len(pathlib.Path("ended").read_text().split()) == 2

        @pytest.mark.parametrize("number", range(2))
        def test_others(number):
            with open("ended", "a") as file:
                print(number, file=file)
    """,
    "test_fourth.py": """
        import os
        import forked_workers
        import pytest

        @pytest.fixture
        def left():
            yield
            forked_workers.tell_leaving(True)
            os._exit(1)

        def test_left_well(left):
            pass

        def test_left_badly(left):
            assert 2 + 2 == 5

        def test_left_amid():
            forked_workers.tell_leaving(True)
            os._exit(1)

        def test_left_after():
            pass
    """,
}


def run(folder: Path, *options: str) -> tuple[int, str, dict[str, str]]:
    """Exit code, output, and the outcome of each test."""
    (folder / "conftest.py").write_text(dedent(CONFTEST.format(here=str(Path(__file__).parent))))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    command += ["-W", "ignore::DeprecationWarning"]  # Python 3.12 warns of each fork beside threads
    command += ["--junitxml", "found.xml", *options]
    outside = {name: value for name, value in os.environ.items() if name != WORKER}  # this test may be in a worker
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, timeout=300, check=False)
    outcomes = {}
    for case in ET.parse(folder / "found.xml").getroot().iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "skipped", "error")]
        assert case.get("name") not in outcomes, "runs once"
        outcomes[str(case.get("name"))] = kinds[0] if kinds else "passed"
    return done.returncode, done.stdout + done.stderr, outcomes


def test_all_run_once_and_are_reported(tmp_path: Path) -> None:
    """A process that hangs in the middleware that it leaves fails no test, unless it has no verdict yet."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(dedent(text))
    code, said, outcomes = run(tmp_path, "--workers", "3")
    assert code == 1, said
    bad = dict.fromkeys(("test_fails", "test_dies", "test_left_badly", "test_left_amid"), "failure")
    bad["test_is_skipped"] = "skipped"
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "passed"} == bad
    assert len(outcomes) == 20
    assert re.search(r"4 failed, 15 passed, 1 skipped, 3 warnings in", said), said
    assert said.count("while it left the middleware, after the test") == 2
    assert "what it printed" in said
    assert "assert (2 + 2) == 5" in said
    assert "the process that ran this test was ended by SIGKILL" in said
    assert "UserWarning: beware" in said
    made = (tmp_path / "made").read_text().split()
    assert len(made) == 1, "a file is run by one worker"
    assert (tmp_path / "unmade").read_text().split() == made


def test_by_test_and_until_one_fails(tmp_path: Path) -> None:
    (tmp_path / "test_many.py").write_text(
        dedent("""
            import os, pathlib, time
            import pytest

            @pytest.mark.parametrize("number", range(40))
            def test_one(number):
                pathlib.Path(f"by-{os.getpid()}").touch()
                while len(list(pathlib.Path().glob("by-*"))) < 2:  # the other worker takes tests of this file, too
                    time.sleep(0.01)
                while number > 12 and not pathlib.Path("told").exists():  # the failure has reached the first process
                    time.sleep(0.01)
                assert number != 10
        """)
    )
    code, said, outcomes = run(tmp_path, "--workers", "2", "--share", "test", "-x")
    assert code == 1, said
    assert outcomes["test_one[10]"] == "failure"
    assert 11 <= len(outcomes) <= 20
    assert "stopping after 1 failures" in said


def test_what_cannot_be_collected_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import there_is_no_such_module\n")
    code, said, _ = run(tmp_path, "--workers", "2")
    assert code == pytest.ExitCode.INTERRUPTED
    assert "there_is_no_such_module" in said


def test_a_process_is_not_taken_for_an_earlier_one_of_its_number():
    server = object.__new__(ForkServer)
    server._socket, other = socket.socketpair()
    server._process_id, server._buffer, server._running = os.getpid(), b"", {}
    with server._socket, other, open(os.devnull, "w") as nothing:
        forked = []
        for said in (b"started 7\n", b"ended 7 -11\nstarted 7\n"):
            other.sendall(said)
            forked.append(server.start("module", [], {}, [nothing.fileno(), nothing.fileno()]))
        assert [process.poll() for process in forked] == [-11, None]
