# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The script behind ``make mutants``: what it changes and leaves alone, and whether its list of exceptions holds; what
benchmarks print."""

import ast
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import yaml
from common import report
from mutants import EQUIVALENT, ROOT, SETS, all_mutants, c_mutants, python_mutants

PYTHON = b'''"""A text of 1 < 2."""
log.warning("%d", 3)
def f(x: Array[1] = 2.0) -> Array[4]:
    assert x > 5
    if not x.any() and (x is not
            None):
        x.place[0] -= 6
        raise ValueError(f"{x + 7}")
    return -x ** 2, zip(x, strict=True)
'''

C = b"""/* 1 < 2 */
#define MOST 3
enum { A = 4 };
static int f(const double* x, int n) { return x[n] <= 0.5 && !n; }
void g(double* y) {
  if (f(y, 6)) { y->q[1] -= 2 * n; h("7 < 8"); }
  for (int i = 0; i < N; ++i) *y++ = i;
}
"""


def changed(source: bytes, spans: list[tuple[int, int, str]]) -> set[tuple[str, str]]:
    return {(source[start:end].decode(), after) for start, end, after in spans}


def test_python() -> None:
    found = python_mutants(PYTHON)
    assert changed(PYTHON, found) >= {
        ("2.0", "4.0"),
        ("not x.any()", "(x.any())"),
        ("and", "or"),
        ("is not", "is"),
        ("0", "1"),
        ("-=", "+="),
        ("x.place[0] -= 6", "pass"),
        ('raise ValueError(f"{x + 7}")', "pass"),
        ("-x ** 2, zip(x, strict=True)", "None"),
        ("-x ** 2", "(x ** 2)"),
        ("**", "*"),
        ("2", "3"),
    }
    assert not {"1", "3", "4", "5", "7", "<", ">", "+", "True"} & {before for before, _ in changed(PYTHON, found)}
    for start, end, after in found:
        ast.parse(PYTHON[:start] + after.encode() + PYTHON[end:])


def test_c() -> None:
    found = changed(C, c_mutants(C))
    assert found == {
        ("x[n] <= 0.5 && !n", "0"), ("<=", "<"), ("<=", ">"), ("0.5", "1.0"), ("&&", "||"), ("!", ""),
        ("f(y, 6)", "!(f(y, 6))"), ("6", "7"), ("y->q[1] -= 2 * n;", ";"), ("1", "2"), ("-=", "+="), ("2", "3"),
        ("*", "/"), ('h("7 < 8");', ";"), ("0", "1"), ("<", "<="), ("<", ">="), ("++", "--"),
    }  # fmt: skip


def test_what_is_known_to_change_nothing_is_drawn() -> None:
    """An entry whose line was changed is to be looked at again."""
    listed = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
    mutants = all_mutants([room for rooms in SETS.values() for room in rooms])
    files = {each["file"] for each in listed}
    drawn = {(each.path, *each.site()[1:]) for each in mutants if each.path in files}
    for each in listed:
        assert tuple(each[key] for key in ("file", "line", "before", "after")) in drawn, each
        assert each["reason"].endswith(".") and (ROOT / each["file"]).exists()


def test_benchmarks_print_tables_and_json(capsys):
    rows = [{"arm": "prr", "time [s]": {"least": 1.5, "median": 2.5}}, {"arm": "panda", "time [s]": {"least": 3.5}}]
    report({"Times": rows, "Nothing": []}, True)
    assert json.loads(capsys.readouterr().out) == {"Times": rows, "Nothing": []}
    report({"Times": rows, "Nothing": []}, False)
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert (table[0], table[2:]) == (["Times"], [["prr", "1.5", "2.5"], ["panda", "3.5"], ["Nothing", "none"]])
