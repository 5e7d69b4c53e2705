# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Names that are markup to somebody: to rich, to Matplotlib, to Markdown, to HTML. Each verb shows them as they are."""

import base64
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from robodyn_ros.cli.main import main

URDF = Path(__file__).parents[1] / "urdf" / "prr.urdf"

NAME = r"[/red] $\frac{x$ :smile: <script>ran=1</script><img src=x onerror=ran=1> [link](javascript:x)"


@pytest.fixture
def urdf(tmp_path):
    text = URDF.read_text()
    for old in ("shoulder", "arm", "prr"):
        text = re.sub(f'"{old}"', lambda match, old=old: quoteattr(f"{old} {NAME}"), text)
    path = tmp_path / "evil.urdf"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "verb",
    [
        "check {urdf}",
        "simulate {urdf} --to 0.5,1,-0.5 --plot {out}.png",
        "workspace {urdf} --samples 5000 --cell 0.2 --plot {out}.png",
        "validate {urdf} --states 1 --motions 1 --duration 0.1",
        "derive {urdf} --out {out}.md",
        "derive {urdf} --out {out}.html",
        pytest.param("plan {urdf} --to 0.3,-0.5,0 --method time-scaling --plot {out}.png", marks=pytest.mark.thorough),
        pytest.param("compare {urdf} --plot {out}.png", marks=pytest.mark.thorough),
        pytest.param("bench {urdf} --rounds 1", marks=pytest.mark.thorough),
    ],
)
def test_a_verb_shows_a_name_as_it_is(verb, urdf, tmp_path, capsys):
    out = tmp_path / "out"
    code = main([word.format(urdf=urdf, out=out) for word in verb.split()])
    assert code in (0, 1), capsys.readouterr().err
    for page in tmp_path.glob("out.*"):
        assert page.stat().st_size > 0
        if page.suffix == ".png":
            continue
        # The sketch of the arm is a picture within the page; a browser runs no script of such a picture.
        text, *sketches = re.split(r"data:image/svg\+xml;base64,([\w+/=]+)", page.read_text())
        for sketch in sketches[::2]:
            assert not re.search(r"<(script|img|iframe|foreignObject)", base64.b64decode(sketch).decode())
        text = "".join([text, *sketches[1::2]])
        if page.suffix == ".html":
            assert "&lt;script&gt;" in text
            assert not re.search(r"<(script|img (?!alt=\"[^\"<>]*\" src=\"\")|iframe)", text)
        else:
            assert not re.search(r"(?<!\\)<(script|img)|(?<!\\)\]\((?!\))", text)
