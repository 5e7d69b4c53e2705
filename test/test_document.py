# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formulas and documents in the formats that people read them in."""

import json
import os
import re
import shutil
import stat
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

import robodyn_ros as rd
from robodyn_ros.document.blocks import (
    CodeBlock,
    DetailsBlock,
    Document,
    EquationBlock,
    HeadingBlock,
    ListBlock,
    Literal,
    MatrixBlock,
    PictureBlock,
    Section,
    SumBlock,
    TextBlock,
    VerdictBlock,
    broken,
    data,
    equation,
    literal_table,
    quoted,
    table,
)
from robodyn_ros.document.html import html, mathml
from robodyn_ros.document.latex import ENGINES, markdown, pdf, tex
from robodyn_ros.document.text import text, text_lines, unicode, width

NAME = quoted(r"a_b%c$d#e&f{g}h~i^j\k<l>m*n|o`p ü")
MATRIX = r"\begin{bmatrix} r \end{bmatrix}"
MATRIX_ELEMENT = "<mrow><mo>[</mo><mtable><mtr><mtd><mi>r</mi></mtd></mtr></mtable><mo>]</mo></mrow>"
DOCUMENT = Document(
    f"The arm {NAME}",
    (TextBlock(rf"It is {NAME}, and $\dot{{q}}_{{1}} = 2 \cdot 10^{{-3}}$."),),
    (
        Section(
            "one", "Sums", (EquationBlock((SumBlock("K", (r"+ \frac{1}{2} m_{1} \dot{q}_{1}^{2}", "- m_{2} g")),)),)
        ),
        Section("two", "Matrices", (EquationBlock((MatrixBlock("R", (("c_{1}", "-s_{1}"), ("s_{1}", "c_{1}"))),)),)),
        Section("three", "Tables", (table(("name", "$m_i$ [kg m²]"), [(NAME, "$1.5$")]),)),
    ),
)


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        (r"m_{2} l_{c2}^{2} \ddot{q}_{2}", "m₂ lc₂² q̈₂"),
        (r"\frac{1}{2} (m_{1} + m_{2}) \dot{q}_{1}^{2}", "½ (m₁ + m₂) q̇₁²"),
        (r"\frac{3}{4} a - b", "3/4 a − b"),
        (r"\frac{\partial M_{12}}{\partial q_{3}}", "∂M₁₂/∂q₃"),
        (r"\frac{\partial^2K}{\partial \dot{q}_i \partial \dot{q}_j}", "∂²K/(∂q̇ᵢ ∂q̇ⱼ)"),
        (r"\sum_k c_{ijk}\, \dot{q}_k", "∑ₖ cᵢⱼₖ q̇ₖ"),
        (r"J_{\omega 2}^T", "Jω₂ᵀ"),
        (r"1.5 \cdot 10^{-12}", "1.5 · 10⁻¹²"),
        (r"\operatorname{sgn}\dot{q}_{2}", "sgn q̇₂"),
        (r"\sin(q_{2} - \theta_{3'})", "sin(q₂ − θ₃′)"),
        (r"\mathrm{c}_{\alpha 2}^{2}", "cα₂²"),
        (r"x^{a}", "x^(a)"),
    ],
)
def test_formulas_as_plain_text(formula: str, plain: str) -> None:
    assert unicode(formula) == plain


@pytest.mark.parametrize(
    ("formula", "element"),
    [
        ("m_{2}", "<msub><mi>m</mi><mrow><mn>2</mn></mrow></msub>"),
        (
            r"\dot{q}^{2}",
            '<msup><mover><mrow><mi>q</mi></mrow><mo stretchy="false" class="accent">˙</mo></mover>'
            "<mrow><mn>2</mn></mrow></msup>",
        ),
        (r"\frac{1}{2}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        ("l_{c1}^{2}", "<msubsup><mi>l</mi><mrow><mi>c</mi><mn>1</mn></mrow><mrow><mn>2</mn></mrow></msubsup>"),
        (r"\sum_i", "<msub><mo>∑</mo><mi>i</mi></msub>"),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"-\sin q", '<mo>−</mo><mo lspace="0.17em" rspace="0.17em">sin</mo><mi>q</mi>'),
        (r"a = -b", '<mi>a</mi><mo>=</mo><mo form="prefix">−</mo><mi>b</mi>'),
        (r"{}- b", "<mrow></mrow><mo>−</mo><mi>b</mi>"),
        (
            "|a|",
            '<mo stretchy="false" lspace="0" rspace="0">|</mo><mi>a</mi>'
            '<mo stretchy="false" lspace="0" rspace="0">|</mo>',
        ),
        (rf"{MATRIX}^\top", f"<msup>{MATRIX_ELEMENT}<mo>⊤</mo></msup>"),
        (f"{MATRIX}_1", f"<msub>{MATRIX_ELEMENT}<mn>1</mn></msub>"),
        (rf"{MATRIX}_1^\top", f"<msubsup>{MATRIX_ELEMENT}<mn>1</mn><mo>⊤</mo></msubsup>"),
    ],
)
def test_formulas_as_mathml(formula: str, element: str) -> None:
    assert mathml(formula) == f'<math display="inline"><mrow>{element}</mrow></math>'


def test_a_sum_on_a_line_of_its_own() -> None:
    found = mathml(r"\sum_i", "block")
    assert found == '<math display="block"><mrow><munder><mo>∑</mo><mi>i</mi></munder></mrow></math>'


BEYOND = (r"\unknown x", r"\mathbf q", r"\begin{aligned} a &= b \end{aligned}", r"\href{a:b}{x}")
NO_MATHEMATICS = (r"\text{<script>x</script>}", r"\text{<img src='x' onerror='y'/>}")


@pytest.mark.parametrize("formula", BEYOND + NO_MATHEMATICS)
def test_a_formula_beyond_the_converter_is_refused(formula: str) -> None:
    refused = r"latex2mathml does not know|browsers do not show|has an element that is not mathematics"
    with pytest.raises(rd.RobodynError, match=refused):
        mathml(formula)


def test_html_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    with pytest.raises(rd.ConfigurationError, match=r"latex2mathml: \S+ -m pip install 'robodyn_ros\[symbolic\]'"):
        html(DOCUMENT)
    assert "<td>$1</td>" in html(Document("t", (literal_table(("a",), [("$1",)]),), ()))


@pytest.mark.parametrize("formula", [r"\unknown x", "{a", "a}", r"\frac{1}", "a^", r"\dot"])
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(rd.RobodynError, match="formula"):
        unicode(formula)


def test_long_sums_are_broken_before_signs() -> None:
    assert broken(("+ a", "- b", "+ c d"), 5, len) == ["a - b", "+ c d"]
    assert broken(("+ a - b", "+ c"), 5, len) == ["a - b", "+ c"]  # as wide as a line: not broken
    assert broken(("+ a", "- b + c"), 7, len) == ["a", "- b + c"]  # likewise, and on a line of its own
    assert broken(("- (a + b - c) d", "+ e"), 8, len) == ["-(a + b", "- c) d", "+ e"]
    assert broken(("+ aaaaaaaaa",), 4, len) == ["aaaaaaaaa"]


def test_text() -> None:
    found = text(DOCUMENT)
    assert "  K = ½ m₁ q̇₁² − m₂ g" in found
    assert "  R = ⎛ c₁   −s₁ ⎞\n      ⎝ s₁   c₁  ⎠\n" in found
    assert "q̇₁ = 2 · 10⁻³" in found
    assert NAME in found
    assert [line.text for line in text_lines(DOCUMENT) if line.role == "heading"] == [
        "1  Sums",
        "2  Matrices",
        "3  Tables",
    ]


def test_a_matrix_has_a_line_around_it_and_sums_have_none() -> None:
    one, other, matrix = SumBlock("a", ("+ b",)), SumBlock("c", ("+ d",)), MatrixBlock("R", (("e",),))

    def lines(*equations: SumBlock | MatrixBlock) -> list[str]:
        blocks = (EquationBlock(equations),)
        found = [line.text.strip() for line in text_lines(Document("t", blocks, ())) if line.role != "heading"]
        return found[found.index("a = b") : -1]

    assert lines(one, other, one) == ["a = b", "c = d", "a = b"]
    assert lines(one, matrix, other) == ["a = b", "", "R = ( e )", "", "c = d"]


def test_tables_are_wrapped_where_they_are_wide() -> None:
    document = Document("t", (table(("a", "b"), [("x" * 10, "word " * 40)]),), ())
    assert max(width(line.text) for line in text_lines(document, 60)) <= 60


def test_markdown() -> None:
    found = markdown(DOCUMENT)
    assert found.startswith("# The arm a\\_b%c\\_d#e&f\\{g\\}h~i^j\\\\k\\<l\\>m\\*n\\|o\\`p ü\n")
    assert (
        "\n## 1. Sums\n\n$$\n\\begin{aligned}\nK &= \\frac{1}{2} m_{1} \\dot{q}_{1}^{2} - m_{2} g\n\\end{aligned}\n$$\n"
        in found
    )
    assert "| name | $m_i$ [kg m²] |\n| --- | --- |\n" in found


def test_json() -> None:
    found = json.loads(data(DOCUMENT))
    assert found["title"] == DOCUMENT.title
    assert found["sections"][0]["blocks"] == [
        {"equations": [{"left": "K", "right": r"\frac{1}{2} m_{1} \dot{q}_{1}^{2} - m_{2} g"}]}
    ]
    assert found["sections"][1]["blocks"][0]["equations"][0]["matrix"] == [["c_{1}", "-s_{1}"], ["s_{1}", "c_{1}"]]
    assert found["sections"][2]["blocks"] == [{"heads": ["name", "$m_i$ [kg m²]"], "rows": [[NAME, "$1.5$"]]}]


class Page(HTMLParser):
    """What a page asks for, and whether its elements close."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta"}:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]
        assert tag not in {"script", "link", "img", "iframe"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_needs_nothing_else() -> None:
    found = html(DOCUMENT)
    page = Page(found)
    assert (page.open, page.links) == ([], [])
    assert set(re.findall(r"url\(.{0,6}", found)) <= {'url("data:'}  # the font, in the page itself
    assert "http" not in found
    assert "h~i^j\\k&lt;l&gt;m*n|o`p ü" in found
    formulas = re.findall(r"<math.*?</math>", found, re.DOTALL)
    assert len(formulas) == 7
    for formula in formulas:
        ElementTree.fromstring(formula)
        assert "\\" not in formula


def test_latex_has_no_name_that_it_could_take_for_a_command() -> None:
    found = tex(DOCUMENT)
    assert found.isascii()
    assert r"a\_b\%c\_d\#e\&f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k" in found
    assert found.count("{") - found.count(r"\{") == found.count("}") - found.count(r"\}")
    assert r"R &= \begin{pmatrix} c_{1} & -s_{1} \\ s_{1} & c_{1} \end{pmatrix}" in found


def engine(folder: Path, script: str) -> None:
    """A LaTeX of our own."""
    path = folder / "pdflatex"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_pdf_by_the_latex_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    engine(tmp_path, 'for last; do :; done; printf %%PDF- > document.pdf; cat "$last" >> document.pdf')
    assert pdf(DOCUMENT) == b"%PDF-" + tex(DOCUMENT).encode()
    engine(tmp_path, "echo 'This is TeX'; echo '! Undefined control sequence.'; exit 1")
    with pytest.raises(rd.ConfigurationError, match=r"pdflatex failed: Undefined control sequence\."):
        pdf(DOCUMENT)


def test_pdf_without_latex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(rd.ConfigurationError, match=f"PDF needs LaTeX: none of {', '.join(ENGINES)} is on PATH"):
        pdf(DOCUMENT)


@pytest.mark.skipif(not any(map(shutil.which, ENGINES)), reason="there is no LaTeX here")
def test_pdf() -> None:
    assert pdf(DOCUMENT).startswith(b"%PDF-")


def test_equations_by_hand() -> None:
    assert equation("K", "a", "- b") == SumBlock("K", ("+ a", "- b"))


HOSTILE = "<script>alert(1)</script> & &lt; | _a_ $x$ ![i](j) 100% #1 \\input{k} `l` **m** ~~n~~ ^ {o}\n\n# p"
LITERAL = Literal(HOSTILE)
EVERY_BLOCK = Document(
    LITERAL,
    (
        VerdictBlock(LITERAL),
        TextBlock(LITERAL),
        HeadingBlock(LITERAL),
        CodeBlock(HOSTILE),
        ListBlock((LITERAL, Literal("second"))),
        PictureBlock(b"\x89PNG", "image/png", HOSTILE),
        literal_table((HOSTILE, "b"), [("[a", "1"), (HOSTILE, "2")], numeric=True, faint=[(1, 1)]),
        DetailsBlock(LITERAL, (TextBlock(LITERAL),)),
    ),
    (Section(HOSTILE, LITERAL, (TextBlock(LITERAL),)),),
    numbered=False,
)


class Texts(HTMLParser):
    """What a page shows, element by element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.shown: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.shown += [value or "" for name, value in attrs if name in {"alt", "id"}]

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def test_every_block_in_html_keeps_a_hostile_text() -> None:
    texts = Texts(html(EVERY_BLOCK))
    assert not texts.tags & {"script", "math", "s", "strong", "em"}
    assert texts.shown.count(HOSTILE) == 15  # also the title of the tab, alt and id


def test_every_block_in_markdown_keeps_a_hostile_text() -> None:
    import markdown_it

    found = markdown(EVERY_BLOCK)
    texts = Texts(markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(found))
    assert not texts.tags & {"script", "s", "em"}
    on_a_line = HOSTILE.replace("\n\n", " ")
    assert texts.shown.count(on_a_line) >= 9
    assert not re.search(r"(?<!\\)\$(?![^\n]*data:)", re.sub(r"(?m)^    .*", "", found))


def test_every_block_in_latex_keeps_a_hostile_text() -> None:
    found = tex(EVERY_BLOCK)
    body = found[found.index(r"\section*") :]
    assert (
        r"\textless{}script\textgreater{}alert(1)\textless{}/script\textgreater{} \& \&lt; \textbar{} \_a\_ \$x\$"
        in body
    )
    assert r"\textbackslash{}input\{k\}" in body
    assert "$" not in body.replace(r"\$", "")
    assert body.count("{") - body.count(r"\{") == body.count("}") - body.count(r"\}")


def test_every_block_as_text_and_json() -> None:
    found = text(EVERY_BLOCK)
    assert "- second" in found
    blocks = json.loads(data(EVERY_BLOCK))["blocks"]
    assert blocks[0] == {"verdict": HOSTILE}
    assert blocks[-1] == {"details": HOSTILE, "blocks": [{"text": HOSTILE}]}
