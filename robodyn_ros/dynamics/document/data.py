"""A document as JSON, formulas in LaTeX, for a program to read."""

from __future__ import annotations

import json
from typing import Any

from robodyn_ros.dynamics.document.blocks import Block, Document, Equations, Matrix, Sum, Text, leading


def data(document: Document) -> str:
    """The text of the file: title, text, and for each section its name, title and blocks in order."""
    sections = [
        {"name": section.name, "title": section.title, "blocks": [_block(block) for block in section.blocks]}
        for section in document.sections
    ]
    whole = {"title": document.title, "blocks": [_block(block) for block in document.blocks], "sections": sections}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Equations):
        return {"equations": [_equation(equation) for equation in block.equations]}
    return {"heads": block.heads, "rows": block.rows}


def _equation(equation: Sum | Matrix) -> dict[str, Any]:
    if isinstance(equation, Matrix):
        return {"left": equation.name, "matrix": equation.rows}
    return {"left": equation.name, "right": leading(" ".join(equation.terms))}
