# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which changes of the code the tests notice: mutants drawn at random, each run against the tests of its room.

A mutant has one change: another operator or constant, a condition negated, a value not returned, a statement left out.
It is killed when a test fails; one that survives shows what no test sees. Python is mutated by its syntax tree, C by
its tokens; texts, comments, annotations, assertions (``strict=True`` is one) and messages of errors stay as they are.

    make mutants MUTANTS="--rooms others --count 48 --seed 3 --jobs 2"
    make mutants MUTANTS="--seed 21 --skip 150"  # the last 50 of the 200: a long run in parts

The tests run in copies of the tree, each with its own cache of compiled arms. A test that fails is run again without
the mutant, where it passes. mutants_equivalent.yaml names changes that change nothing, and says why; they are drawn and
not counted. Mutants that do not compile are not counted either.

Source: DeMillo, Lipton and Sayward, Hints on Test Data Selection (1978); the operators are those of Mothra (King and
Offutt, 1991) that this code has a use for.
"""

import argparse
import ast
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import count as count_from
from itertools import pairwise
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import yaml
from common import report
from rich.console import Console
from rich.progress import Progress

from robodyn_ros.engine.library import cache_folder

ROOT = Path(__file__).resolve().parents[1]
TEST_LONGEST, LONGEST = 120, 3600  # [s]: a test, and all tests of a room
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.yaml")


ROOMS = {
    "loop": (
        "control/core/*.c control/loop.py control/reference_manager.py control/running_core.py control/step.py "
        "control/limits.py control/faults/*.py control/motion/goals.py control/motion/streams.py",
        "test_control_[!ct]*.py test_control_chunks.py test_control_con[st]*.py test_control_tool_*.py "
        "test_control_trajectory.py",
    ),
    "thread": (
        "nodes/controller/realtime/runner.c",
        "test_control_thread.py test_nodes_[stuw]*.py test_nodes_rea*.py test_nodes_f*.py test_nodes_[cl]*.py",
    ),
    "robot": ("robot/**/*.py", "test_robot_*.py test_yaml_files.py test_fuzz_urdf.py test_kinematics_truth.py"),
    "kinematics": ("kinematics/**/*.py", "test_kinematics_*.py test_workspace.py test_dynamics_truth.py"),
    "dynamics": (
        "dynamics/**/*.py",
        "test_dynamics_*.py test_derivation.py test_mechanisms.py test_engine_code.py test_fuzz_dynamics.py "
        "test_export*.py test_plugin_contract.py test_conformance.py",
    ),
    "identification": ("identification/**/*.py", "test_*identif*.py test_stated_*.py test_control_payload_*.py"),
    "planning": ("planning/**/*.py planning/**/*.c", "test_planning_*.py test_cli_plan.py test_cli_mistakes.py"),
    "view": ("view/**/*.py", "test_view_*.py test_kinematics_workspace.py"),
    "document": ("document/**/*.py", "test_document*.py test_cli_demo_report.py"),
    "simulation": (
        "simulation/**/*.py simulation/**/*.c",
        "test_simulation_*.py test_cli_compare.py test_cli_validate.py test_cli_sweep.py test_cli_simulate.py "
        "test_cli_mistakes.py test_planning_mpc.py test_plugin_contract.py",
    ),
    "laws": (
        "control/laws/*.py control/motion/*.py control/[!lrs]*.py",
        "test_control_[!e]*.py test_own_controller.py test_conformance.py test_cli_parameter_file.py",
    ),
    "export": ("control/export/*.py", "test_control_export.py test_control_step_export.py test_cli_export.py"),
    "commissioning": ("control/commissioning/*.py", "test_control_commissioning.py test_nodes_commissioner.py"),
    "engine": ("engine/*.py", "test_engine*.py test_cli_compile.py test_dynamics_*.py test_control_tracing.py"),
    "nodes": ("nodes/**/*.py", "test_nodes_*.py test_cli_demo.py test_cli_stops.py"),
    "cli": ("cli/**/*.py", "test_cli_*.py test_document_reports.py test_robot_motion_limits.py test_readme.py"),
}
"""Files of the package, below ``robodyn_ros``, and the tests that look after them, below ``test``."""

FIRST = {
    "action_goal": "action_goal",
    "consistency": "consistency recurrence",
    "contact": "contact",
    "core": "loop action_goal trajectory stopping drive_compensation",
    "dry_run": "safety",
    "faults": "fault_table recurrence braking holding safety reactions consistency",
    "goals": "action_goal behaviour speed_scaling",
    "limits": "holding motion_limits gains safety",
    "loop": "loop action_goal recurrence limits",
    "prediction": "braking safety reactions",
    "references": "action_goal stopping stream_velocity speed_scaling seam servo trajectory chunks motion_limits",
    "runner": "thread test_nodes_states test_nodes_wire test_nodes_units test_nodes_transmission",
    "sampling": "sampling gains",
    "states": "stream_velocity sampling recurrence",
    "step": "step limits step_export",
    "streams": "stream_velocity tool_stream",
    "tool": "tool_stream tool_laws tool_figures tool_motion",
    "trajectory": "trajectory seam action_goal motion_limits limits stopping",
}
LAST = "contact consistency hand_guiding adaptive reactions pushes export"
"""Tests of the loop by their subjects: those that a mutant of a module fails soonest, and those that take longest."""

SETS = {"loop": ["loop", "thread"], "others": [room for room in ROOMS if room not in ("loop", "thread")]}
COUNTS = {"loop": 200, "others": 48}


class Mutant(NamedTuple):
    """One change of one file."""

    room: str
    path: str  # below the top folder
    start: int  # in bytes
    end: int
    after: str

    def site(self) -> tuple[int, str, str, str]:
        """Number of the line, its text, and what it is changed from and to, each on one line."""
        source = (ROOT / self.path).read_bytes()
        begin = source.rfind(b"\n", 0, self.start) + 1
        line = source[begin : source.find(b"\n", self.start)]
        before = source[self.start : self.end]
        texts = [" ".join(text.split()) for text in (line.decode(), before.decode(), self.after)]
        return source.count(b"\n", 0, self.start) + 1, texts[0], texts[1], texts[2]


# Python, by its syntax tree

SWAPS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",), "and": ("or",), "or": ("and",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "//": ("*",), "%": ("*",), "**": ("*",), "|": ("&",),
    "&": ("|",), "<<": (">>",), ">>": ("<<",), "&&": ("||",), "||": ("&&",),
}  # fmt: skip
LOGGERS = ("log", "logger", "logging", "warnings")


def python_mutants(source: bytes) -> list[tuple[int, int, str]]:
    """All changes of a Python module: (start, end, after) in bytes."""
    lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]
    found: list[tuple[int, int, str]] = []

    def span(node: ast.AST) -> tuple[int, int]:
        place: Any = node
        start = lines[place.lineno - 1] + place.col_offset
        return start, lines[place.end_lineno - 1] + place.end_col_offset

    def text(node: ast.AST) -> str:
        start, end = span(node)
        return source[start:end].decode()

    def swap(left: ast.AST, right: ast.AST, ends: str = "") -> None:
        """The operator between two operands, which parentheses and comments may surround."""
        start, end = span(left)[1], span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), source[start:end])
        gap = gap.translate(bytes.maketrans(b"()\\\n", b"    "))
        operator, at = gap.strip().decode(), start + len(gap) - len(gap.lstrip())
        found.extend((at, at + len(operator), after + ends) for after in SWAPS.get(operator.removesuffix(ends), ()))

    def is_passed_over(node: ast.AST) -> bool:
        match node:
            case ast.Assert() | ast.JoinedStr() | ast.keyword(arg="strict", value=ast.Constant(value=True)):
                return True  # they tell the type checker, or the reader
            case ast.If(test=test):
                return "TYPE_CHECKING" in text(test)
            case ast.Expr(value=ast.Call(func=called)):
                return text(called).split(".")[0] in LOGGERS
        return False

    def change_expression(node: ast.AST) -> None:
        match node:
            case ast.Compare(left=first, comparators=others):
                for left, right in pairwise((first, *others)):
                    swap(left, right)
            case ast.BoolOp(values=values):
                for left, right in pairwise(values):
                    swap(left, right)
            case ast.BinOp(left=left, right=right) if not isinstance(left, ast.JoinedStr):
                swap(left, right)
            case ast.UnaryOp(operand=operand):
                found.append((*span(node), f"({text(operand)})"))
            case ast.Constant(value=bool(value)):
                found.append((*span(node), str(not value)))
            case ast.Constant(value=int() | float()):
                found.append((*span(node), other_number(text(node))))

    def change_statement(node: ast.AST) -> None:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                found.append((*span(test), f"(not ({text(test)}))"))
            case ast.comprehension(ifs=tests):
                found.extend((*span(test), f"(not ({text(test)}))") for test in tests)
            case ast.Return(value=ast.AST() as value) if text(value) != "None":
                found.append((*span(value), "None"))
            case ast.AugAssign(target=target, value=value):
                swap(target, value, "=")
                found.append((*span(node), "pass"))
            case ast.Expr(value=ast.Call()) | ast.Raise():
                found.append((*span(node), "pass"))
            case ast.Assign(targets=targets) if all(isinstance(t, ast.Attribute | ast.Subscript) for t in targets):
                found.append((*span(node), "pass"))

    def visit(node: ast.AST) -> None:
        if is_passed_over(node):
            return
        change_expression(node)
        change_statement(node)
        if isinstance(node, ast.Raise):  # its message is not looked into
            return
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        visit(child)

    visit(ast.parse(source))
    return found


# C, by its tokens

FUNCTION = re.compile(rb"^\w[^;{}=]*\) \{([^\n]*\}$|.*?^\})", re.S | re.M)
HIDDEN = re.compile(rb"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
OPERATOR = re.compile(rb"(?<= )(<=|>=|==|!=|&&|\|\||<|>|\+|-|\*|/|%)(?= )")
ASSIGNING = re.compile(rb"(?<= )[-+*/]=(?= )|(?<=\w)(?:\+\+|--)(?=[ ;)])")
UNARY = re.compile(rb"(?<=[ (,?:=])[!-](?=[\w(])")
NUMBER = re.compile(rb"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?(?![\w.])")
CONDITION = re.compile(rb"\b(?:if|while) \(((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)\)")
RETURN = re.compile(rb"\breturn ([^;]+);")
STATEMENT = re.compile(rb"(?<=[;{})\n])[ \t]*((?:\*?[\w\]\)]+(?:->|\.|\[[^\];]*\]|\w)* [-+*/|&]?= |\w+\()[^;{}]*;)")


def c_mutants(source: bytes) -> list[tuple[int, int, str]]:
    """All changes within the functions of a C file: (start, end, after)."""
    text = HIDDEN.sub(lambda hidden: re.sub(rb"[^\n]", b" ", hidden[0]), source)
    found: list[tuple[int, int, str]] = []
    for function in FUNCTION.finditer(text):
        body = function.span(1)
        for match in OPERATOR.finditer(text, *body):
            found += [(*match.span(), after) for after in SWAPS[match[0].decode()]]
        for match in ASSIGNING.finditer(text, *body):
            found.append((*match.span(), match[0].decode().translate(str.maketrans("+-*/", "-+/*"))))
        for match in CONDITION.finditer(text, *body):
            found.append((*match.span(1), f"!({source[slice(*match.span(1))].decode()})"))
        found += [(*match.span(), "") for match in UNARY.finditer(text, *body)]
        found += [(*match.span(), other_number(match[0].decode())) for match in NUMBER.finditer(text, *body)]
        found += [(*match.span(1), "0") for match in RETURN.finditer(text, *body) if match[1] != b"0"]
        found += [(*match.span(1), ";") for match in STATEMENT.finditer(text, *body)]
    return found


def other_number(number: str) -> str:
    """One more than an integer, and twice a float, or one."""
    if number.replace("_", "").isdigit():
        return str(int(number) + 1)
    return repr(2.0 * float(number) or 1.0) if re.fullmatch(r"[\d._e+-]+", number) else f"({number} + 1)"


# Drawing and running


def all_mutants(rooms: list[str]) -> list[Mutant]:
    """Of all files of rooms, in an order that depends on nothing but the files."""
    found = []
    for room in rooms:
        files = {path for pattern in ROOMS[room][0].split() for path in (ROOT / "robodyn_ros").glob(pattern)}
        for path in sorted(files):
            source = path.read_bytes()
            spans = python_mutants(source) if path.suffix == ".py" else c_mutants(source)
            found += [Mutant(room, str(path.relative_to(ROOT)), *span) for span in spans]
    return found


class Copy:
    """A copy of the tree in which mutants run, one after the other."""

    def __init__(self, folder: Path) -> None:
        listed = subprocess.check_output(["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT)
        self.tree, self._cache = folder / "tree", folder / "cache"
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).exists():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        self._cache.mkdir()
        (folder / "tmp").mkdir()
        own = {"PYTHONPATH": str(self.tree), "XDG_CACHE_HOME": str(self._cache), "TMPDIR": str(folder / "tmp")}
        self._environment = os.environ | own
        with contextlib.suppress(FileNotFoundError):  # what is compiled already need not be compiled again
            shutil.copytree(cache_folder(), self._cache / "robodyn_ros")
        self._kept = self._cached()
        self._passes: set[str] = set()

    def _cached(self) -> set[Path]:
        return {path for path in self._cache.rglob("*") if path.is_file()}

    def tests(self, room: str, module: str = "") -> list[str]:
        """Files of tests of a room: those of the module's subject, then those that name it, and long ones last."""
        test, first = self.tree / "test", FIRST.get(module, "").split()
        subjects = [*first, "", *LAST.split()]

        def order(path: Path) -> tuple[int, bool]:
            subject = path.stem.removeprefix("test_control_")
            place = subjects.index(subject if subject in subjects else "")
            return place, not re.search(rf"\b{module}\b", path.read_text())

        patterns = f"{ROOMS[room][1]} test_settings.py test_approved_pictures.py".split()
        files = [path for pattern in patterns for path in sorted(test.glob(pattern))]
        files.sort(key=order)
        return list(dict.fromkeys(f"test/{path.name}" for path in files))

    def verdict(self, mutant: Mutant) -> str:
        """``survived``, ``does not compile``, or the test that failed."""
        path = self.tree / mutant.path
        source = path.read_bytes()
        changed = source[: mutant.start] + mutant.after.encode() + source[mutant.end :]
        if path.suffix == ".py":
            try:
                compile(changed, mutant.path, "exec")
            except (SyntaxError, ValueError):
                return "does not compile"
        try:
            self._write(path, changed)
            verdict = self._test(self.tests(mutant.room, path.stem))
        finally:
            self._write(path, source)
            for made in self._cached() - self._kept:
                made.unlink()
        if verdict.startswith("test_") and verdict not in self._passes:
            alone = self._test([f"test/{verdict}"])
            if alone != "survived":
                raise SystemExit(f"{verdict} does not pass without a mutant: {alone}")
            self._passes.add(verdict)
            self._kept = self._cached()
        return verdict

    @staticmethod
    def _write(path: Path, text: bytes) -> None:
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):  # which only tells seconds apart
            compiled.unlink()
        path.write_bytes(text)

    def _test(self, tests: list[str]) -> str:
        chosen = f"-x -q --tb=short --timeout={TEST_LONGEST} --timeout-method=thread -p no:cacheprovider -m"
        command = [sys.executable, "-m", "pytest", *chosen.split(), "not thorough", *tests]
        process = subprocess.Popen(
            command, cwd=self.tree, env=self._environment, start_new_session=True, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return "time limit"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            return "survived"
        if re.search(r"\.c:\d+:(\d+:)? error: ", output):
            return "does not compile"
        failed = re.search(r"^(?:FAILED|ERROR) (?:test/)?([^\s\[]+)", output, re.M)
        return failed[1] if failed else "time limit" if "Timeout" in output else f"exit {process.returncode}"


def run(rooms: list[str], count: int, seed: int, jobs: int, skip: int = 0) -> list[tuple[str, str, str, str]]:
    """Draw mutants and run those after the first ``skip``; for each in that order: place, before, after, verdict."""
    listed = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or []
    known = {tuple(each[key] for key in ("file", "line", "before", "after")): each["reason"] for each in listed}
    mutants = all_mutants(rooms)
    drawn = random.Random(seed).sample(mutants, min(count, len(mutants)))[skip:]
    console = Console(stderr=True)
    console.print(f"{count} of {len(mutants)} mutants of {', '.join(rooms)}, seed {seed}")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, Progress(console=console) as progress:
        copies: Queue[Copy] = Queue()
        bar = progress.add_task("mutants", total=len(drawn))
        for job in range(jobs):
            (Path(folder) / str(job)).mkdir()
            copies.put(Copy(Path(folder) / str(job)))

        def one(place: int, mutant: Mutant) -> tuple[str, str, str, str]:
            number, *change = mutant.site()
            reason = known.get((mutant.path, *change), "")
            if not reason:
                copy = copies.get()
                verdict = copy.verdict(mutant)
                copies.put(copy)
            row = f"{mutant.path}:{number}", *change[1:], f"equivalent: {reason}" if reason else verdict
            progress.console.print("{} {}: {} → {}: {}".format(place, *row), markup=False, soft_wrap=True)
            progress.update(bar, advance=1)
            return row

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, count_from(skip + 1), drawn))


def main() -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", default="loop", help=f"a set ({', '.join(SETS)}) or rooms ({','.join(ROOMS)})")
    parser.add_argument("--count", type=int, help="how many mutants (default: 200 of the loop, 48 of others)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time (default: 1)")
    parser.add_argument("--skip", type=int, default=0, help="how many of them to pass over first (default: 0)")
    chosen = parser.parse_args()
    rooms = list(SETS.get(chosen.rooms, chosen.rooms.split(",")))
    if unknown := [room for room in rooms if room not in ROOMS]:
        parser.error(f"unknown room {unknown[0]!r}: rooms are {', '.join(ROOMS)}, sets {', '.join(SETS)}")
    rows = run(rooms, chosen.count or COUNTS.get(chosen.rooms, 48), chosen.seed, chosen.jobs, chosen.skip)
    table = [
        {"file": place.removeprefix("robodyn_ros/"), "before": before[:40], "after": after[:40], "killed by": verdict}
        for place, before, after, verdict in rows
    ]
    report({"Mutants": table}, False)
    survived = sum(row[3] == "survived" for row in rows)
    counted = sum(not row[3].startswith(("equivalent", "does not compile")) for row in rows)
    print(f"{survived} of {counted} survived: {survived / max(counted, 1):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
