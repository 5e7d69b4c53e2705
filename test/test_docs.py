# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The site of the documentation: its commands run, and what was built needs no network."""

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import browser
import pytest
import yaml
from test_readme import SCRIPTS, copy, environment, run_script

import robodyn_ros as rd
from robodyn_ros.cli.main import VERBS
from robodyn_ros.control import SafetySettings
from robodyn_ros.control.faults.consistency import SETTINGS
from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.plugins import GROUPS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS)]

import executed  # noqa: E402
import first_hour  # noqa: E402

__all__ = ["copy"]  # the fixture

ELSEWHERE = {script for _, script in SCRIPTS}
"""Commands of the README and of the contributor's guide: test_readme.py runs them, and all that never end."""

PAGES = sorted(DOCS.rglob("*.md"))

NODE_PAGES = sorted((DOCS / "reference/nodes").glob("*.md"))
PARAMETER_ROW = re.compile(r"^\| `([\w.<>]+)` \|", re.MULTILINE)


def options_of(verb: str) -> set[str]:
    """The options of a verb of the command."""
    parser = ArgumentParser()
    import_module(f"robodyn_ros.cli.{verb}").add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))


def commands(page: Path) -> list[str]:
    """The scripts of a page that are run here."""
    found = [block.code for block in executed.blocks(page, "bash") if not block.why_not]
    return [code for code in found if code not in ELSEWHERE and not executed.UNTIL_TOLD.match(code)]


@pytest.mark.thorough
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_commands(page: Path, copy: Path) -> None:
    """One after the other, in one folder: as a reader types them."""
    shutil.copytree(
        ROOT / "examples", copy / "examples", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    )
    installed = copy / "installed"
    # What a page installs comes from here, without the network, and goes beside the environment, not into it.
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(installed)}
    path = {"PYTHONPATH": f"{copy}{os.pathsep}{installed}", "MAKEFLAGS": "n"}  # what `make` does, other tests see
    for script in commands(page):
        run_script(script, copy, environment(copy, **pip, **path), timeout=180)  # a command that hangs


def test_the_first_hour_types_what_the_pages_say() -> None:
    """All of each block, and what runs until Ctrl-C in a terminal of its own: whole, with the lines that it needs."""
    until_told = []
    for page in first_hour.PAGES:
        for block in executed.blocks(ROOT / page, "bash"):
            typed = list(first_hour.commands(block.code))
            assert "".join(command.script for command in typed) == block.code
            until_told += [command.script.split()[0:3] for command in typed if command.until_told]
            assert all("\\" not in command.script.rstrip()[-1:] for command in typed)
    programs = [words[:2] for words in until_told]
    assert [".venv/bin/robodyn", "view"] in programs
    assert ["make", "demo"] in programs
    assert sum(words[0] == ".venv/bin/robodyn-simulator" for words in programs) == 2
    (panda,) = (words for words in until_told if words[0] == "cat")
    assert panda[2] == "friction.yaml"
    assert not first_hour.Command("make demo", False).until_told


def test_the_first_hour_finds_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails, a traceback, and a program that ends by itself are named; variables are handed on."""
    monkeypatch.setattr(subprocess, "run", lambda command, **_: Path(command[-1]).mkdir())  # no clone
    shell = first_hour.Shell(tmp_path)
    monkeypatch.undo()

    def problem(script: str, until_told: bool = False) -> str:
        return shell.run(first_hour.Command(script, until_told))[-1].problem

    assert problem("WORD=seven") == ""
    assert problem('test "$WORD" = seven\nread answer\ntest $answer = y') == ""
    assert problem("echo so it is\nfalse").startswith("exit code 1: so it is")
    assert problem("echo Traceback").startswith("a traceback")
    assert problem("echo nothing", until_told=True).startswith("ended with 0 before it was ready")
    assert shell.run(first_hour.Command("echo 3 joints, ready; exec sleep 600", True)) == []
    (ended, last) = shell.run(first_hour.Command("true", False))
    assert ended.problem == last.problem == ""


def test_what_is_not_run_says_why() -> None:
    for page in PAGES:
        for language in ("bash", "python"):
            for block in executed.blocks(page, language):
                assert not block.why_not or len(block.why_not.split()) > 2, f"{name(page)}:{block.line}"
        # A fence that executed.py does not see would be code that nobody runs.
        fences = re.findall(r"^[ >]*```+(?:python|bash)\b", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == sum(len(executed.blocks(page, language)) for language in ("bash", "python")), name(page)


def test_equations_side_by_side_are_apart_and_nothing_else_is() -> None:
    """So that they stand below each other on a narrow screen."""
    from mathml import equations

    assert equations(r"a = \frac{b}{c}, \qquad d = e") == [r"a = \frac{b}{c},", "d = e"]
    whole = r"\left( a \qquad b \right) = \begin{matrix} c \qquad d \end{matrix} \text{e \qquad f} \qquadratic"
    assert equations(whole) == [whole]


class Loaded(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        fetched = tag in {"script", "img", "iframe", "source"} or (
            tag == "link" and set((given.get("rel") or "").split()) & {"stylesheet", "preload", "icon", "preconnect"}
        )
        if fetched:
            self.addresses += [given[key] or "" for key in ("src", "href") if key in given]


@pytest.fixture(scope="module")
def site() -> Path:
    if "ROBODYN_SITE" not in os.environ:
        pytest.skip("`make docs` builds the site and runs this test on it")
    return ROOT / os.environ["ROBODYN_SITE"]


def test_the_site_needs_no_network(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        for address in loaded.addresses:
            assert not re.match(r"(\w+:)?//", address), f"{page.name} fetches {address}"
            assert address.startswith("data:") or (page.parent / address.partition("?")[0]).exists(), (
                f"{page}: {address}"
            )
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


def test_the_site_shows_what_the_pages_draw_and_print(site: Path) -> None:
    text = (site / "lessons/pendulum.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<a class="plotted[^>]*href="([^"]+)"><img[^>]*class="plotted[^>]*src="([^"]+)"', text)
    assert len(pictures) == 2
    assert all(opened == shown for opened, shown in pictures), "each opens at its full size"
    assert "6.9367 N·m" in text
    assert text.count("<math") > 20
    assert "$" not in re.sub(r"<(pre|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert '<html class="no-js" lang="ko"' in (site / "lessons/ko/dynamics.html").read_text(encoding="utf-8")


def test_the_reference_has_all_that_there_is(site: Path) -> None:
    verbs = (site / "reference/command.html").read_text(encoding="utf-8")
    assert all(f"robodyn {verb}</h2>" in re.sub(r"<a .*?</a>", "", verbs) for verb in VERBS)
    plugins = (site / "reference/plugins.html").read_text(encoding="utf-8")
    assert all(f">{found}</span>" in plugins for kind in GROUPS for found in rd.available(kind))
    for page in NODE_PAGES:
        shown = (site / f"reference/nodes/{page.stem}.html").read_text(encoding="utf-8")
        listed = PARAMETER_ROW.findall(page.read_text(encoding="utf-8"))
        assert all(parameter.replace("<", "&lt;").replace(">", "&gt;") in shown for parameter in listed)
    settings = (site / "reference/settings.html").read_text(encoding="utf-8")
    assert all(word in settings for word in ("state_timeout", "natural_frequency", "PlantSettings"))
    for room in ("robot", "engine", "kinematics", "dynamics", "control", "simulation"):
        assert (site / f"reference/api/{room}.html").is_file()


CUT = """() => [...document.querySelectorAll('td.prose')].filter(
    cell => cell.getBoundingClientRect().right > cell.closest('.table-wrapper').getBoundingClientRect().right + 1
).map(cell => cell.textContent)"""
"""Cells of prose that can only be read by scrolling sideways."""


@pytest.mark.parametrize("width", [390, 1400])
def test_what_a_row_means_is_in_sight(site: Path, width: int) -> None:
    """On a phone, a row of many cells is a block; each cell is below the other, beside the heading of its column."""
    with browser.page(width, 900) as shown:
        for found in [*NODE_PAGES, DOCS / "safety.md", DOCS / "reference/settings.md", DOCS / "how-to/own-arm.md"]:
            shown.goto((site / found.relative_to(DOCS)).with_suffix(".html").resolve().as_uri())
            assert shown.evaluate("document.querySelectorAll('td.prose').length") > 0, found
            assert shown.evaluate(CUT) == [], found
            assert shown.evaluate("document.documentElement.scrollWidth") <= width, found


SAFETY = (DOCS / "safety.md").read_text(encoding="utf-8")


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading of the safety contract, without its head."""
    part = SAFETY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", part, re.MULTILINE)
    assert table, heading
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")] for row in table[1].splitlines()]


def test_the_contract_has_the_table_of_faults(site: Path) -> None:
    text = re.sub(r"</?(?:code|span|pre|p)\b[^>]*>", "", (site / "safety.html").read_text(encoding="utf-8"))
    for kind, fault in FAULTS.items():
        row = re.search(rf"<tr[^>]*>\s*<td[^>]*>{kind}</td>.*?</tr>", text, re.DOTALL)
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row[0], re.DOTALL) if row else []
        reactions, duration, words, test = cells[2:]
        assert reactions.split(", ")[0] == fault.reaction and set(reactions.split(", ")) == set(fault.reactions)
        assert (float(duration), words, test) == (fault.max_duration, fault.words, fault.test)


def test_each_kind_of_fault_has_a_test_that_injects_it() -> None:
    for fault in FAULTS.values():
        file, _, function = fault.test.partition("::")
        assert f"def {function}(" in (ROOT / "test" / file).read_text(encoding="utf-8")
    for line in SAFETY.splitlines():
        if line.startswith("|") and line.count("|") == 5 and "---" not in line and "injected by" not in line:
            assert "`test_" in line, f"no test in: {line}"


def test_the_contract_has_the_stated_uncertainty() -> None:
    rows = {row[0].strip(" `"): float(row[1].split()[0]) for row in rows_of("Stated uncertainty")}
    assert rows == {name: getattr(SafetySettings(), name) for name in SETTINGS}
    assert len(SETTINGS) <= 10


OPTIONS = {verb: options_of(verb) for verb in VERBS}

TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

NODES = "".join(page.read_text(encoding="utf-8") for page in NODE_PAGES)

PARAMETERS = PARAMETER_ROW.findall(NODES)
NODE_SETTING = re.compile("|".join(re.sub(r"<\w+>", r"[\\w<>]+", name.replace(".", r"\.")) for name in PARAMETERS))
GROUPED = re.compile("|".join(sorted({f"{name.partition('.')[0]}\\.[a-z]" for name in PARAMETERS if "." in name})))
"""A name that begins as a parameter of a node does."""

WITH_VALUES = re.compile(r"`([a-z_]+(?:\.[a-z_]+)*): [^`\n]+`")
"""A parameter that a page gives a value: ``command_delay: 0.002``."""

OF_OTHERS = ("levels", "enforce_command_limits", "poses.reach")
"""Names with values of a study, of ros2_control, and of the reader's own choice."""


def parameters_in(text: str) -> Iterator[str]:
    """The parameters of nodes in the YAML of a page."""
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        for section in yaml.safe_load(block).values():
            if isinstance(section, dict) and "ros__parameters" in section:
                yield from flat_names(section["ros__parameters"])


def flat_names(parameters: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The names of parameters in groups, with dots."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from flat_names(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    """Targets of make, verbs with their options, files, tests, topics and parameters."""
    text = page.read_text(encoding="utf-8")
    wrong = [name for name in re.findall(r"`make ([a-z][\w-]*\w)[` ]", text) if name not in TARGETS]
    for verb, rest in re.findall(r"(?:bin/|`)robodyn ([a-z]\w*)((?: [^`\n]*)?)", text):
        options = OPTIONS.get(verb, set())
        wrong += [verb] if verb not in OPTIONS else []
        wrong += [f"{verb} {each}" for each in re.findall(r"(?<=\s)--[a-z][\w-]*", rest) if each not in options]
    for name in re.findall(r"`([^`\s]+)`", text):
        file, _, function = name.partition("::")
        if re.match(r"(urdf|examples|benchmarks|docs|launch|test|robodyn_ros|rviz)/[\w./-]+$", name):
            wrong += [name] if not (ROOT / name).exists() else []
        elif re.match(r"test_\w+\.py$", file):
            test = ROOT / "test" / file
            known = test.is_file() and (not function or f"def {function}(" in test.read_text(encoding="utf-8"))
            wrong += [name] if not known else []
        elif re.match(r"~/[\w/]+$", name):
            wrong += [name] if name not in NODES else []
        elif GROUPED.match(name) and re.fullmatch(r"[\w.<>]+", name) and "<class>" not in name:
            stem = name.removesuffix("_x").removesuffix("_y").removesuffix("_z")
            wrong += [name] if not NODE_SETTING.fullmatch(name) and stem == name else []
    given = [*WITH_VALUES.findall(text), *parameters_in(text)]
    wrong += [name for name in given if not NODE_SETTING.fullmatch(name) and name not in OF_OTHERS]
    assert not wrong
