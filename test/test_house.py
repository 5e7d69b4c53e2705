# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The rules of the house: who may import whom, how large a folder may be, and that a name means one thing."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from without_extras import ROS

PACKAGE = Path(__file__).parent.parent / "robodyn_ros"

ROOMS = (
    *("document", "robot", "engine", "kinematics", "dynamics", "control"),
    *("simulation", "identification", "planning", "view"),
)
"""From the ground up: a room may import those before it, errors and plugins; nodes and cli may import any of them."""

WIDEST = 15
"""Most files that a folder may hold."""

PEERS = {"cli", "control/laws"}
"""Folders of peers behind one interface, which may hold more: the verbs, the laws."""

LEAST = 400
"""Lines that two modules must have together, if one of them is imported by the other one only."""

APART = {
    "control.conformance.conftest": "pytest reads its fixtures from a file of this name",
    "dynamics.symbolic.closed_steps": "it needs SymPy; who imports it says so where that is missing",
    "dynamics.symbolic.general_steps": "it needs SymPy; who imports it says so where that is missing",
    "identification.recording.bag": "a format: one of several behind one interface",
}
"""Modules that one sibling alone imports, and why they are no part of it."""

FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def imports(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports, inside functions too."""
    names: set[str] = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full names"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@cache
def statements(path: Path) -> list[ast.AST]:
    """All statements of a file, with those inside of others."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:  # it grows
        found += inside(node)
    return found


def inside(node: ast.AST) -> list[ast.AST]:
    """The statements that are the body of a statement."""
    return [one for part in ("body", "orelse", "finalbody", "handlers", "cases") for one in getattr(node, part, ())]


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def module(path: Path) -> str:
    """A file's dotted name within the package; "" is the package's face."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


MODULES = {f"robodyn_ros.{module(path)}".rstrip(".") for path in FILES}
"""Full names of all modules."""


@cache
def graph() -> dict[str, set[str]]:
    """Module → modules of the package that it imports."""
    names = {module(path) for path in FILES}
    found: dict[str, set[str]] = {}
    for path in FILES:
        inside = [name.split(".", 1)[1] for name in imports(path) if name.startswith("robodyn_ros.")]
        found[module(path)] = {name if name in names else name.rpartition(".")[0] for name in inside} - {module(path)}
    return found


@pytest.mark.parametrize("here", sorted({room(path) for path in FILES}))
def test_imports(here: str) -> None:
    for path, name in ((file, name) for file in FILES if room(file) == here for name in imports(file)):
        top, *rest = name.split(".")
        assert top not in ROS or here == "nodes", f"{path}: {name}: only nodes/ speaks ROS"
        if top != "robodyn_ros" or not rest or not (PACKAGE / rest[0]).is_dir():
            continue
        assert rest[0] not in {"nodes", "cli"} or here == rest[0], f"{path}: {name}: nothing imports {rest[0]}/"
        if here in ROOMS:
            assert ROOMS.index(rest[0]) <= ROOMS.index(here), f"{path}: {name}: rooms depend downwards only"


def test_casadi_is_found_in_one_place() -> None:
    """Where it is missing, that place says how to install it; annotations may name it anywhere."""
    for path in FILES:
        typed = [
            node for node in statements(path) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ]
        annotated = {one for node in typed for one in inside(node)}
        for node in set(statements(path)) - annotated:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert "casadi" not in {name.split(".")[0] for name in names}, f"{module(path)}: it is in engine/casadi.py"


def test_every_room_is_known() -> None:
    found = {room(path) for path in FILES} - {"", "nodes", "cli"}
    assert found <= set(ROOMS)


def test_only_the_ros_room_would_fail_without_ros() -> None:
    assert any(name.split(".")[0] in ROS for path in FILES if room(path) == "nodes" for name in imports(path))


def test_what_benchmarks_import_is_there() -> None:
    """CI runs few of them."""
    for path in (PACKAGE.parent / "benchmarks").glob("*.py"):
        for node in statements(path):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE.name):
                source = import_module(str(node.module))
                missing = [each.name for each in node.names if not hasattr(source, each.name)]
                assert not [name for name in missing if f"{node.module}.{name}" not in MODULES], path


def test_no_circles() -> None:
    """Modules import each other in one direction only, inside functions too."""
    left = {name: set(targets) for name, targets in graph().items()}
    while leaves := [name for name, targets in left.items() if not targets]:
        left = {name: targets - set(leaves) for name, targets in left.items() if name not in leaves}
    assert not left, f"circles among {sorted(left)}"


def test_folders_can_be_taken_in() -> None:
    counts = Counter(path.parent.relative_to(PACKAGE).as_posix() for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > WIDEST and folder not in PEERS} == {}


def test_no_module_serves_one_sibling_alone() -> None:
    """What one sibling alone imports belongs into it; a verb, and what a package shows on its face, serves all."""
    users, size = defaultdict(set), {}
    for path in FILES:
        size[module(path)] = len(path.read_text(encoding="utf-8").splitlines())
        if path.name not in {"__init__.py", "__main__.py"} or (path.parent.name in {"check", "demo"}):
            for name in graph()[module(path)]:
                users[name].add(module(path))
    faces = {module(path) for path in FILES if path.name == "__init__.py"}
    public = {name for face in faces for name in graph()[face] if name.startswith(f"{face}.")}
    public |= {module(path) for path in FILES if "\ndef add_arguments(" in path.read_text(encoding="utf-8")}
    alone = {
        name: user
        for name, (user, *others) in users.items()
        if not others and name not in faces | public and name.rpartition(".")[0] == user.rpartition(".")[0]
    }
    small = {name for name, user in alone.items() if size[name] + size[user] <= LEAST}
    assert small - APART.keys() == set()
    assert APART.keys() <= set(size), "of what is there no longer"


def test_a_class_has_a_name_of_its_own() -> None:
    found = defaultdict(list)
    for path in FILES:
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module(path))
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_docstrings_say_it_themselves() -> None:
    """No docstring sends its reader to the module, and every reference leads somewhere."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert "See the module" not in text, path
        for reference in re.findall(r":mod:`~?\.?(?=robodyn_ros)([\w.]+)`", text):
            assert reference in MODULES, f"{path}: {reference} is no module"
        for reference in re.findall(r":mod:`\.([\w.]+)`", text):
            siblings = {file.stem for file in path.parent.iterdir()}
            assert reference.split(".")[0] in siblings, f"{path}: .{reference} is no sibling"


MOST_METHODS = 30
"""Most methods and properties of a class by its own definition."""


def test_no_class_is_several() -> None:
    classes = [node for path in FILES for node in statements(path) if isinstance(node, ast.ClassDef)]
    counts = {node.name: sum(isinstance(each, ast.FunctionDef) for each in node.body) for node in classes}
    assert max(counts.values()) > 20
    assert {name: count for name, count in counts.items() if count > MOST_METHODS} == {}


MOST_DECISIONS = 15
"""Most decisions in a function: branches, loops, conditions that are joined, errors that are caught."""

DECIDES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)


def decisions(node: ast.AST) -> int:
    """Decisions in a function of Python, without those of functions and classes in it."""
    count = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        count += isinstance(child, DECIDES)
        count += 1 + len(child.ifs) if isinstance(child, ast.comprehension) else 0
        count += len(child.values) - 1 if isinstance(child, ast.BoolOp) else 0
        count += decisions(child)
    return count


def functions_in_c(text: str) -> dict[str, int]:
    """Name of a function of C or C++ → its decisions. EACH, an operation on vectors, is none."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", "", text, flags=re.DOTALL)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    found = {}
    for head in re.finditer(r"^[^\n{};]*?(\w+)\s*\([^;{}]*\)[^;{}()]*\{", text, re.MULTILINE):
        if head[1] in {"if", "for", "while", "switch"}:
            continue
        depth, end = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found[head[1]] = len(re.findall(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?", text[head.end() : end]))
    return found


def test_no_function_has_too_many_decisions() -> None:
    found: dict[str, int] = {}
    for path in FILES:
        name = path.relative_to(PACKAGE).as_posix()
        functions = [node for node in statements(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        found |= {f"{name} {node.name}": decisions(node) for node in functions}
    count = len(found)
    for path in sorted(path for kind in ("c", "h", "cpp", "hpp") for path in PACKAGE.rglob(f"*.{kind}")):
        name = path.relative_to(PACKAGE).as_posix()
        found |= {
            f"{name} {function}": each for function, each in functions_in_c(path.read_text(encoding="utf-8")).items()
        }
    assert count > 1000 and len(found) - count > 300, "these are all functions"
    too_many = {name: each for name, each in found.items() if each > MOST_DECISIONS}
    assert not too_many, too_many


def test_no_file_of_the_core_is_long() -> None:
    files = (PACKAGE / "control" / "core").glob("*.[ch]")
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert len(lengths) > 10 and not {name: each for name, each in lengths.items() if each > 500}, lengths


def test_parameters_are_few() -> None:
    """The rows of docs/reference/nodes, which test_nodes_reference.py compares with the nodes."""
    rows = re.compile(r"^\| `[^`]+` \|.* \| (?:start|configure|any time) \|$", re.MULTILINE)
    pages = (PACKAGE.parent / "docs" / "reference" / "nodes").glob("*.md")
    counts = {page.stem: len(rows.findall(page.read_text(encoding="utf-8"))) for page in pages}
    assert 50 < counts["controller-parameters"] <= 100
    assert sum(counts.values()) <= 200


def test_decisions_are_counted() -> None:
    code = "def f(x):\n  if x and not x or 1:\n    return [y for y in x if y]\n"
    code += "  try:\n    return 1 if x else 2\n  except E:\n    pass"
    assert decisions(ast.parse(code).body[0]) == 7
    assert functions_in_c("static int f(int a) {\n  for (;;) if (a && a) { return a ? 1 : 2; } /* if */\n}\n") == {
        "f": 4
    }


def test_what_rclpy_does_not_promise_stands_in_one_file() -> None:
    """Its private names, and those that differ between distributions; what Lyrical removed is nowhere."""
    private = re.compile(r"\brclpy\.(_\w+|impl|experimental|type_support)\b")
    removed = re.compile(
        r"\bQoS(Reliability|Durability|History|Liveliness)Policy\b|\bqos_event\b|\bQoSEventHandler\b|"
        r"get_logger\(\)\.warn\(|\b(RELIABILITY|DURABILITY|HISTORY|LIVELINESS)_(SYSTEM|RMW)\w*"
    )
    place = PACKAGE / "nodes/common/client_library.py"
    found = [path for path in sorted((PACKAGE / "nodes").rglob("*.py")) if any(map(private.search, imports(path)))]
    assert found == [place]
    for path in (*(PACKAGE / "nodes").rglob("*.py"), *(PACKAGE.parent / "launch").glob("*.py")):
        if path != place:
            assert not removed.search(path.read_text(encoding="utf-8")), path


def test_a_line_logs_with_one_severity() -> None:
    """Else rclpy raises an error with the second one: a node whose compiler failed could not be configured."""
    chosen = re.compile(r"\.(debug|info|warning|error|fatal) if .* else")
    for path in sorted((PACKAGE / "nodes").rglob("*.py")):
        assert not chosen.search(path.read_text(encoding="utf-8")), path
