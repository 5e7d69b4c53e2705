# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A newcomer's first hour, as the pages say it, in a fresh clone with a fresh home: ``make first-hour``.

    docs/first_hour.py                          the tutorial (PRR), then the page of the UR5 and the Panda
    docs/first_hour.py --pages docs/tutorial.md this page only; pages build on each other

The program runs the commands and Python blocks of the pages from top to bottom, also those that the tests leave out. A
command that runs until Ctrl-C has a terminal of its own, until the next command that ends has ended; an address that it
prints is opened. Questions are answered with yes. A table shows each command, its time and its verdict; the exit code
is 1 if a command fails. The program needs Linux, git and the network. It skips commands that need a sourced ROS 2 if
there is none, and blocks whose comment names a thing that a newcomer does not have: a cluster, a recording, an arm.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import executed

PAGES = ("docs/tutorial.md", "docs/how-to/ur5-panda.md")
READY = re.compile(r"(http://\S+)|\d joints, ")
"""Output of a program that runs until Ctrl-C, when it has started."""

OF_HIS_OWN = re.compile(r"it needs (an?|two|the real) ")
"""Beginning of the reason for which a first hour leaves a block out: ``<!-- not run: it needs a cluster -->``."""

LONGEST = 900.0
"""Time that a command may take [s]."""


class Command(NamedTuple):
    """A command of a page."""

    script: str
    until_told: bool

    def told(self) -> str:
        """Its lines, without the texts that it writes into files."""
        return re.sub(
            r"<<'END'\n.*?^END$", "<<'END' …", self.script, flags=re.DOTALL | re.MULTILINE
        ).strip()


class Row(NamedTuple):
    """The result of a command."""

    command: Command
    seconds: float
    problem: str
    skipped: bool = False


def commands(script: str) -> Iterator[Command]:
    """The commands of a block: one, or one for each that runs until Ctrl-C, with the lines before it."""
    typed = ""
    for line in re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n", script):
        typed += line
        if executed.UNTIL_TOLD.match(line):
            yield Command(typed, True)
            typed = ""
    if typed.strip():
        yield Command(typed, False)


class Shell:
    """The terminals in a fresh clone; a variable that one command sets is set for the next ones."""

    def __init__(self, folder: Path) -> None:
        """
        Args:
            folder: an empty one.
        """
        self.clone, self._scratch = folder / "robodyn_ros", folder
        subprocess.run(["git", "clone", "--quiet", executed.ROOT, self.clone], check=True)
        for name in ("home", "output"):
            (folder / name).mkdir()
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ
        }
        network = {
            name: value
            for name, value in os.environ.items()
            if re.match(r"(?i)pip_|.*_proxy$|ssl_cert", name)
        }
        # A domain that `robodyn demo` and `view` never draw.
        graph = {"ROS_DOMAIN_ID": "101", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        own = {"HOME": str(folder / "home"), "AMENT_PREFIX_PATH": str(self.clone / ".venv")}
        self._environment = {**kept, **network, **graph, **own}
        self._variables = folder / "variables"
        self._variables.touch()
        self._running: list[tuple[subprocess.Popen[bytes], Path, Command, float]] = []
        self._count = 0

    def run(self, command: Command) -> list[Row]:
        """Run a command; returns its result, and those of the commands that it ended."""
        if command.script.startswith("ros2 ") and not shutil.which("ros2"):
            return [Row(command, 0.0, "no ROS 2 is sourced", skipped=True)]
        process, output, began = self._start(command)
        if command.until_told:
            self._running.append((process, output, command, began))
            problem = _wait_until_ready(process, output)
            return (
                self.end() if problem or "http://" in output.read_text(errors="replace") else []
            )
        try:
            code = process.wait(LONGEST)
            problem = "" if code == 0 else f"exit code {code}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            problem = f"not ended after {LONGEST:.0f} s"
        said = output.read_text(errors="replace")
        if not problem and "Traceback" in said:
            problem = "a traceback"
        row = Row(command, monotonic() - began, f"{problem}: {said[-1500:]}" if problem else "")
        return [*self.end(), row]

    def end(self) -> list[Row]:
        """Press Ctrl-C in all terminals where something runs."""
        rows = []
        for process, output, command, began in self._running:
            problem = _wait_until_ready(process, output)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                code = process.wait(60.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
                problem = problem or "Ctrl-C does not end it"
            said = output.read_text(errors="replace")
            interrupted = code in (0, 130, -signal.SIGINT) or (
                code == 2 and "Error 130" in said
            )
            problem = problem or ("" if interrupted else f"exit code {code} after Ctrl-C")
            problem = problem or ("a traceback" if "Traceback" in said else "")
            rows.append(
                Row(
                    command,
                    monotonic() - began,
                    f"{problem}: {said[-1500:]}" if problem else "",
                )
            )
        self._running.clear()
        return rows

    def _start(self, command: Command) -> tuple[subprocess.Popen[bytes], Path, float]:
        self._count += 1
        output, answers = self._scratch / "output" / str(self._count), self._scratch / "answers"
        answers.write_text("y\n" * 200)
        script = f"set -euo pipefail; set -a; source {self._variables}\n{command.script}\n"
        script += f"declare -p $(compgen -v | grep -xE '[A-Z]+' | grep -vxE '{FIXED}') > {self._variables}\n"
        with open(output, "wb") as out, open(answers, "rb") as typed:
            words = ["bash", "-c", script]
            options = {"cwd": self.clone, "env": self._environment, "start_new_session": True}
            process = subprocess.Popen(words, stdin=typed, stdout=out, stderr=out, **options)  # type: ignore[call-overload]
        return process, output, monotonic()


FIXED = (
    "BASHOPTS|BASHPID|EUID|PPID|SHELLOPTS|UID|HOME|PATH|PWD|OLDPWD|SHLVL|RANDOM|SECONDS|SRANDOM"
    "|LINENO|EPOCHSECONDS|EPOCHREALTIME|FUNCNAME|GROUPS|DIRSTACK|IFS"
)
"""Variables that are the shell's own, as a regular expression."""


def _wait_until_ready(process: subprocess.Popen[bytes], output: Path) -> str:
    """Wait until a program has started, and open an address that it prints; returns the problem, if any."""
    until = monotonic() + LONGEST
    while not (found := READY.search(output.read_text(errors="replace"))):
        try:
            process.wait(0.5)
            return f"ended with {process.returncode} before it was ready"
        except subprocess.TimeoutExpired:
            if monotonic() > until:
                return f"not ready after {LONGEST:.0f} s"
    if found[1]:
        with urllib.request.urlopen(found[1], timeout=30.0) as page:
            if page.status != 200 or b"<html" not in page.read().lower():
                return f"{found[1]} shows no page"
    return ""


def page_of(shell: Shell, page: str) -> Iterator[Row]:
    """The results of a page's commands, and at last of its Python."""
    for block in executed.blocks(executed.ROOT / page, "bash"):
        if OF_HIS_OWN.match(block.why_not):
            yield Row(Command(block.code, False), 0.0, block.why_not, skipped=True)
            continue
        for command in commands(block.code):
            yield from shell.run(command)
    yield from shell.end()
    program = "\n".join(
        block.code
        for block in executed.blocks(executed.ROOT / page, "python")
        if not OF_HIS_OWN.match(block.why_not)
    )
    if program:
        (shell.clone / "page.py").write_text(program, encoding="utf-8")
        yield from shell.run(
            Command(".venv/bin/python page.py  # the Python of the page", False)
        )


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pages", nargs="+", default=PAGES, help="in their order (default: %(default)s)"
    )
    parser.add_argument("--keep", action="store_true", help="keep clone and outputs")
    args = parser.parse_args()
    # Behind nohup or & the signal is ignored, and started programs would ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="first-hour-"))
    good = True
    try:
        shell = Shell(folder)
        try:
            for page in args.pages:
                print(f"\n{page}\n\n{'time':>9}  {'verdict':<8} command", flush=True)
                for row in page_of(shell, page):
                    good = good and (row.skipped or not row.problem)
                    verdict = "skipped" if row.skipped else "FAILED" if row.problem else "ok"
                    told = row.command.told().replace("\n", "\n" + " " * 20)
                    print(f"{row.seconds:>7.1f} s  {verdict:<8} {told}", flush=True)
                    if row.problem:
                        print(
                            f"{'':20}[{row.problem}]".replace("\n", "\n" + " " * 20), flush=True
                        )
        finally:
            shell.end()
    finally:
        if args.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
