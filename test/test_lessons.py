# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every page of docs/ is a program, and runs: its assertions are the tests."""

import ast
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import executed  # noqa: E402

PAGES = [page for page in sorted(DOCS.rglob("*.md")) if executed.blocks(page, "python")]
LESSONS = [page for page in sorted((DOCS / "lessons").rglob("*.md")) if page.stem != "index"]


TRANSLATED = [page for page in LESSONS if page.parent.name == "ko" and (page.parent.parent / page.name).exists()]


ODD = re.compile(r"-0\.?0*(?![\d.])|\bnan\b|\d\.\d{7,}|e[+-]00|array\(|\{'")
"""What a reader stumbles over: a negative zero, too many digits, an exponent of zero, Python's own notation."""


def name(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_page_runs(page: Path) -> None:
    for result in executed.run(page):
        odd = ODD.search(result.printed)
        assert not odd, f"line {result.block.line} prints {odd[0]!r}"


@pytest.mark.parametrize("page", LESSONS, ids=name)
def test_a_lesson_asserts_and_plots(page: Path) -> None:
    program = "\n".join(block.code for block in executed.blocks(page, "python") if not block.why_not)
    calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)}
    assert "assert_allclose" in calls, "a lesson asserts its numbers"
    assert any(call.startswith("plt.") for call in calls), "a lesson shows something"
    assert "allclose" not in {call.rpartition(".")[2] for call in calls}, "assert_allclose says by how much"


HANGUL = re.compile("[가-힣]")


@pytest.mark.parametrize("page", TRANSLATED, ids=name)
def test_a_translated_lesson_is_the_same_program(page: Path) -> None:
    """All but what is written in Korean: each number is asserted in both languages."""
    english = page.parent.parent / page.name
    programs = []
    for source in (page, english):
        runs = (block.code for block in executed.blocks(source, "python") if not block.why_not)
        programs.append(ast.parse("\n".join(runs)))
    for translated, original in zip(*map(ast.walk, programs), strict=True):
        text = getattr(translated, "value", None)
        if isinstance(text, str) and HANGUL.search(text) and isinstance(original, ast.Constant):
            original.value = text
    assert ast.unparse(programs[0]) == ast.unparse(programs[1])
    formulas = [
        re.findall(r"^\$\$.+?\$\$$", source.read_text("utf-8"), re.DOTALL | re.MULTILINE) for source in (page, english)
    ]
    assert formulas[0] == formulas[1]
    assert f"](../{page.name})" in page.read_text("utf-8"), "links the page in English"
    assert f"](ko/{page.name})" in english.read_text("utf-8"), "links the page in Korean"


def test_a_wrong_number_is_found_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("# Wrong\n\n```python\none = 1\n```\n\ntext\n\n```python\n\nassert one == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        executed.run(page)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 11)


def test_what_a_page_prints_and_plots_is_collected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint('said')\nfrom matplotlib import pyplot as plt\n_, axes = plt.subplots()\n"
        "axes.set_title('drawn')\n```\n\n<!-- not run: it fails -->\n```python\n1 / 0\n```\n\n```bash\nfalse\n```\n"
    )
    first, second = executed.run(page)
    assert first.printed == "said\n"
    assert [figure.title for figure in first.figures] == ["drawn"]
    assert first.figures[0].svg.startswith(b"<?xml")
    assert (second.block.why_not, second.printed, second.figures) == ("it fails", "", ())
