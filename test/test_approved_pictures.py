# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings and marks are the approved ones: what was looked at does not change by itself.

After an intended change: ROBODYN_APPROVE=1 make test TEST=test/test_approved_pictures.py, and look at the difference.
"""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from arms import joint, link
from arms import robot as robot_of

import robodyn_ros as rd
from robodyn_ros.kinematics.sketch import sketch
from robodyn_ros.view import marks
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.marks import Meshes
from robodyn_ros.view.overlay import Overlay

APPROVED, URDF = Path(__file__).with_name("approved"), Path(__file__).parents[1] / "urdf"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def crane():
    """Its slide is parallel to its waist, its elbow is not, and its wrist is crowded."""
    return rd.load_robot(
        robot_of(
            "crane",
            link("base"),
            link("mast", 3.0, (0.02, 0.01, 0.3), (0.2, 0, 0, 0.21, 0, 0.02)),
            link("carriage", 2.0, (0.1, 0.03, 0.0), (0.02, 0, 0, 0.03, 0, 0.04)),
            link("boom", 1.5, (0.2, 0.0, 0.02), (0.01, 0, 0, 0.05, 0, 0.05)),
            link("hook", 0.4, (0.03, 0.0, -0.02), (0.001, 0, 0, 0.001, 0, 0.002)),
            joint("waist", "revolute", "base", "mast", (0, 0, 1), (0, 0, 0.1), limit=(-3.0, 3.0, 1.0, 40.0)),
            joint("lift", "prismatic", "mast", "carriage", (0, 0, 1), (0.1, 0, 0.2), limit=(0.0, 0.5, 0.4, 90.0)),
            joint("elbow", "revolute", "carriage", "boom", (0, 1, 0), (0.3, 0, 0), limit=(-2.0, 2.0, 2.0, 30.0)),
            joint("wrist", "revolute", "boom", "hook", (1, 0, 0), (0.05, 0, 0), limit=(-2.0, 2.0, 2.0, 8.0)),
        )
    )


def said(found):
    """Marks as lines of text; of an ellipsoid the matrix, for the signs of its axes are nobody's choice."""
    lines = []
    for mark in found:
        parts = mark[2:]
        if isinstance(mark, marks.Ball):
            parts = mark.center, mark.rotation * mark.radii**2 @ mark.rotation.T, mark.color
        numbers = (np.round(np.array(part, dtype=float), 9).ravel().tolist() for part in parts)
        lines.append(f"{type(mark).__name__} {mark.layer} {mark.name} {' '.join(map(str, numbers))}\n")
    return "".join(lines)


def overlaid(robot, q, qd, effort):
    overlay = Overlay(robot)
    overlay.marks(0.9 * q, qd)
    return said(overlay.marks(q, qd, effort, reference=1.1 * q))


def marked():
    pose, point = np.eye(4), np.array([0.3, -0.1, 0.5])
    pose[:3] = [[0.0, -1.0, 0.0, 0.2], [1.0, 0.0, 0.0, -0.4], [0.0, 0.0, 1.0, 0.7]]
    found = [
        *marks.triad("tool", pose, 0.2),
        *marks.force_arrow(point, np.array([3.0, -4.0, 12.0]), 40.0, 1.2),
        marks.stiffness_ball(point, pose[:3, :3], np.array([200.0, 800.0, 0.0]), 1.2),
        *marks.box_lines(np.array([-0.2, -0.3, 0.1]), np.array([0.4, 0.3, 0.9]), point, 5.0, 1.2),
        *marks.wall_lines("surface", point, np.array([0.0, 0.6, 0.8]), 0.5),
    ]
    return said(found)


class Scene:
    """Writes down what is drawn in it."""

    def __init__(self):
        self.drawn = []

    def __getattr__(self, name):
        return lambda *given, **named: self._draw(f"{name} {' '.join(map(str, given))} {written(named)}")

    def _draw(self, line):
        handle = SimpleNamespace(visible=True)
        self.drawn.append((line, handle))
        return handle


def written(values):
    """Names and values, numbers rounded."""
    numeric = (np.ndarray, float, tuple)
    rounded = {
        name: np.round(value, 6).tolist() if isinstance(value, numeric) else value for name, value in values.items()
    }
    return " ".join(f"{name}={value}" for name, value in rounded.items())


def drawn():
    """An arm, and marks that are drawn and changed; not those of inertia, whose axes have the signs of LAPACK."""
    scene, overlay = Scene(), Overlay(PRR)
    ArmDrawing(scene, PRR, "/arm", Meshes("")).move(Q)
    marks_there = MarkDrawing(scene, "/marks")
    for place in (0.5, 1.0):
        found = overlay.marks(place * Q, QD, place * EFFORT)
        marks_there.draw(mark for mark in found if mark.layer != "inertia")
    return "".join(sorted(f"{line} -> {written(vars(handle))}\n" for line, handle in scene.drawn))


PRR = rd.load_robot(URDF / "prr.urdf")
Q, QD, EFFORT = np.array([0.6, 0.5, -0.9]), np.array([0.1, -0.4, 0.7]), np.array([40.0, -30.0, 45.0])
CRANED = np.array([[0.3, 0.2, 0.7, 0.4], [0.1, 0.1, 0.2, -0.3], [2.0, 9.0, -7.0, 1.0]])
PICTURES = {
    "prr.svg": lambda: sketch(PRR).decode(),
    "prr_equations.svg": lambda: sketch(PRR, Q, frames="equations").decode(),
    "crane.svg": lambda: sketch(crane()).decode(),
    "crane_equations.svg": lambda: sketch(crane(), frames="equations").decode(),
    "overlay.txt": lambda: overlaid(PRR, Q, QD, EFFORT),
    "overlay_crane.txt": lambda: overlaid(crane(), *CRANED),
    "marks.txt": marked,
    "drawn.txt": drawn,
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_approved_one(name):
    found = PICTURES[name]()
    if os.environ.get("ROBODYN_APPROVE"):
        (APPROVED / name).write_text(found, encoding="utf-8")
    approved = (APPROVED / name).read_text(encoding="utf-8")
    assert NUMBER.sub("#", found) == NUMBER.sub("#", approved)
    numbers = (np.array(NUMBER.findall(text), float) for text in (found, approved))
    np.testing.assert_allclose(*numbers, atol=0.11 if name.endswith("svg") else 1e-6)  # an SVG has tenths of a pixel
