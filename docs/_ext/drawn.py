# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The directive ``arm``: a line drawing of an arm, made from its URDF.

Its argument is the path of a URDF from the top of the project, or a name that the Python of the page defines: a robot,
a model of one, the text of a URDF, or ``name[key]`` for one of several. ``:at:`` gives the positions that are drawn.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from executed import ROOT
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import robodyn_ros as rd
from robodyn_ros.kinematics.sketch import WIDTH, sketch


class arm(nodes.Element):
    """The place of a drawing."""


class Arm(SphinxDirective):
    """The directive; the transform below draws when the page's program has run."""

    required_arguments = 1
    option_spec: ClassVar = {"at": directives.unchanged}
    has_content = True

    def run(self) -> list[nodes.Node]:
        """See Sphinx."""
        self.env.note_reread()
        caption = self.parse_content_to_nodes()
        place = arm("", *caption, source=self.arguments[0], at=self.options.get("at", ""))
        place.source, place.line = self.get_source_info()
        return [place]


class Draw(SphinxTransform):
    """Draws the arms of a page, after :mod:`shown` has run its program."""

    default_priority = 401

    def apply(self) -> None:
        """See the class."""
        names = self.env.temp_data.get("names", {})
        for number, place in enumerate(list(self.document.findall(arm))):
            try:
                drawing = _drawing(place["source"], place["at"], names)
            except Exception as problem:
                logging.getLogger(__name__).warning("arm: %s", problem, location=place)
                place.parent.remove(place)
                continue
            folder = Path(self.env.app.doctreedir) / "figures"
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{self.env.docname.replace('/', '-')}-arm-{number}.svg"
            file.write_bytes(drawing)
            here = Path(self.env.doc2path(self.env.docname)).parent
            caption = " ".join(child.astext() for child in place.children)
            image = nodes.image(
                uri=os.path.relpath(file, here),
                alt=caption or f"Sketch of the arm {place['source']}",
                width=f"{WIDTH:g}px",
                classes=["drawn"],
            )
            place.replace_self([image, *place.children])


def _drawing(source: str, at: str, names: dict[str, Any]) -> bytes:
    name, _, key = source.rstrip("]").partition("[")
    given = names.get(name, ROOT / source)
    given = given[key] if key else given
    robot = getattr(given, "robot", given)
    if not isinstance(robot, rd.Robot):
        robot = rd.load_robot(robot.strip() if isinstance(robot, str) else robot)
    return sketch(robot, [float(word) for word in at.split()] if at else None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_node(arm)
    app.add_directive("arm", Arm)
    app.add_transform(Draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
