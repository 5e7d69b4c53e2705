# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings, figures, marks and pages are the approved ones: what was looked at does not change by itself.

After an intended change: ROBODYN_APPROVE=1 make test TEST=test/test_approved_pictures.py, and look at the difference.
"""

import contextlib
import io
import itertools
import os
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import matplotlib
import numpy as np
import pytest
from arms import joint, link
from arms import robot as robot_of
from identified import made_up
from matplotlib.axis import Axis
from matplotlib.text import Text

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.document.text import text
from robodyn_ros.identification.report import changes, everything, friction, stated_uncertainty
from robodyn_ros.identification.report import report as identification_report
from robodyn_ros.kinematics.sketch import sketch
from robodyn_ros.kinematics.workspace import Cells
from robodyn_ros.planning.plan import Plan, plot_plan
from robodyn_ros.planning.problem import JointGoal, Problem
from robodyn_ros.simulation.comparison import ComparedMotion, ComparedRun, LawComparison
from robodyn_ros.simulation.sweeps.report import draw as draw_sweep
from robodyn_ros.simulation.sweeps.report import report
from robodyn_ros.simulation.sweeps.study import Distribution, Study
from robodyn_ros.simulation.sweeps.summary import Bound, Sensitivity, Summary
from robodyn_ros.simulation.trial import Trial, TrialSamples
from robodyn_ros.simulation.trial_files import plot_trial
from robodyn_ros.view import marks
from robodyn_ros.view.browser import GHOST
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.marks import Meshes
from robodyn_ros.view.overlay import Overlay
from robodyn_ros.view.panel import Panel, Requests
from robodyn_ros.view.workspace_map import draw_map, draw_views

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
    overlay.marks(0.9 * q, qd, reference=q)
    return said(overlay.marks(q, qd, effort, reference=1.1 * q))


def marked():
    pose, point = np.eye(4), np.array([0.3, -0.1, 0.5])
    pose[:3] = [[0.0, -1.0, 0.0, 0.2], [1.0, 0.0, 0.0, -0.4], [0.0, 0.0, 1.0, 0.7]]
    found = [
        *marks.triad("tool", pose, 0.2),
        *marks.force_arrow(point, np.array([3.0, -4.0, 12.0]), 40.0, 1.2),
        marks.stiffness_ball(point, pose[:3, :3], np.array([200.0, 800.0, 0.0]), 1.2),
        *marks.force_arrow(point, np.array([0.8, 0.0, 0.0]), 40.0, 1.2),  # too small to be seen
        *marks.box_lines(np.array([-0.2, -5.0, 0.1]), np.array([5.0, 0.3, 0.9]), point, 5.0, 1.2),
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
    ArmDrawing(scene, PRR, "/ghost", Meshes(""), GHOST)  # at home
    marks_there = MarkDrawing(scene, "/marks")
    for place, hidden in ((0.5, ""), (0.7, "skeleton"), (1.0, "gravity")):
        found = overlay.marks(place * Q, QD, place * EFFORT)
        marks_there.draw(mark for mark in found if mark.layer not in ("inertia", hidden))
    return "".join(sorted(f"{line} -> {written(vars(handle))}\n" for line, handle in scene.drawn))


def printed(verb, arm, *words):
    """What a command prints about an arm of the package, in 80 columns."""
    with contextlib.redirect_stdout(io.StringIO()) as out, patch.dict(os.environ, COLUMNS="80"):
        main([verb, str(URDF / arm), *words])
    return out.getvalue()


def told(draw):
    """The figure that a function saves with Matplotlib: its sizes, words and scales, and what is drawn in it."""
    if matplotlib.__version_info__ < (3, 11):
        pytest.skip("it is approved as matplotlib 3.11 draws it")
    with patch("matplotlib.figure.Figure.savefig", autospec=True) as saved:
        draw(Path("figure.png"))
    (figure,) = saved.call_args.args[:1]
    lines = [("figure", figure.get_size_inches(), figure.get_suptitle(), saved.call_args.kwargs.get("dpi"))]
    lines += [("layout", *figure.get_layout_engine().get().values())] if figure.get_layout_engine() else []
    lines += [("legend", *(text.get_text() for text in each.get_texts())) for each in figure.legends]
    for axes in figure.axes:
        if axes.name == "3d":
            lines.append(("view", axes.elev, axes.azim))
        for axis in axes.findobj(Axis):
            grid = [line.get_visible() for line in axis.get_gridlines()[:1]]
            lines.append(("axis", axis.get_scale(), axis.get_view_interval(), axis.get_ticklocs(), grid))
        words = [each for each in axes.findobj(Text) if each.get_text()]
        lines += [("word", each.get_text(), each.get_position(), each.get_fontsize()) for each in words]
        for each in axes.lines:
            style = (
                each.get_color(),
                each.get_linewidth(),
                each.get_linestyle(),
                each.get_drawstyle(),
                *([each.get_marker(), each.get_markersize()] if each.get_marker() != "None" else []),
                each.get_zorder(),
            )
            lines.append(("line", *style, *(np.array(part, float) for part in each.get_data())))
        lines += [("patch", each.get_facecolor(), each.get_extents().bounds) for each in axes.patches]
        lines += [("image", each.get_extent(), each.get_clim(), each.get_array()) for each in axes.images]
        for each in axes.collections:
            paths = np.concatenate([np.empty((0, 2)), *(path.vertices for path in each.get_paths())])
            lines.append(("many", each.get_alpha(), each.get_clim(), each.get_offsets(), each.get_array(), paths))
    return "".join(f"{' '.join(map(rounded, line))}\n" for line in lines)


def rounded(part):
    """A word, or some twenty numbers with six digits after the point; -1 where an image has none."""
    if part is None or isinstance(part, str):
        return str(part)
    numbers = np.ma.filled(part, -1.0).astype(float).ravel()
    return str(np.round(numbers[:: 1 + len(numbers) // 20], 6).tolist())


def swept():
    """Of two laws, one of which failed in a case."""
    uniform, normal = Distribution("uniform", (0.0, 1.0)), Distribution("normal", (0.0, 1.0))
    vary = {"stiffness": uniform, "mass": normal, "delay": uniform, "noise": normal}
    study = Study("drives", "", ("pd", "mine"), vary=vary)
    rest = {"delay": Sensitivity(0.05, 0.04), "noise": Sensitivity(0.01, 0.02)}
    seen = {"margin": {"stiffness": Sensitivity(0.3, 0.1), "mass": Sensitivity(-0.02, 0.15)} | rest}
    unseen = {"margin": {"stiffness": Sensitivity(0.6, 0.2), "mass": Sensitivity(np.nan, np.nan)} | rest}
    margins = np.array([0.3, -0.2, 0.1, -9.0, 0.05, 0.4, 0.2])
    bounds = (Bound("rms_error", "elbow", 0.02, 5, (-9.0, -0.3, 0.1, 0.35)),)
    one = Summary("pd", 7, 5, 0.29, 0.96, {}, margins, bounds, ((3, -9.0, ""), (1, -0.2, "")), seen, 6)
    worst = ((2, np.nan, "slow"), (6, 0.1, ""))
    other = Summary("mine", 7, 2, 0.04, 0.71, {"slow": 1}, 0.5 * margins[1:], (), worst, unseen, 7, "slow at 2 s")
    return told(lambda path: draw_sweep(path, study, [one, other])) + text(report(study, [one, other]))


def compared():
    """Two laws of which one leaves an error; a third failed."""
    t, size = np.linspace(0.0, 2.0, 21), np.array([0.4, 1.0, 2.0])

    def run(rate, left):
        error = size * (left + (1.0 - left) * np.exp(-rate * t))[:, np.newaxis]
        limit = np.array([np.inf, np.abs(error * EFFORT).max(axis=0)[1] if left else np.inf, np.inf])
        return ComparedRun(t, size - error, np.tile(size, (21, 1)), error * EFFORT, limit)

    motions = tuple(ComparedMotion(name, 0.0 * size, 2.0, None, size) for name in ("step", "trajectory"))
    laws = {"pd": run(2.0, 0.05), "mine": run(6.0, 0.0)}
    found = LawComparison(PRR, "heavier", motions, (laws, laws), {"other": "it diverged"})
    return told(found.plot) + repr(found)


def tried(commanded):
    """A trial whose readings lag, with as many commands as that."""
    t = np.array([0.0, 0.1, 0.2, 0.3])
    values = {"q": np.outer(t, Q), "qd": np.outer(t, QD), "effort": np.outer(1.0 - t, EFFORT)}
    asked = {name: 1.1 * value[:commanded] for name, value in values.items()}
    read = TrialSamples(t + 0.01, t, values | {"q": 0.9 * values["q"]})
    commands = TrialSamples(t[:commanded], t[:commanded], asked)
    trial = Trial(TrialSamples(t, t, values), read, commands, {}, PRR.effort_limit)
    return told(lambda path: plot_trial(trial, PRR, "a trial", path))


def planned():
    """A motion that comes near to some of its limits."""
    t, rest, goal = np.array([0.0, 0.6, 1.0]), np.zeros(3), np.array([0.3, -1.83, -0.12])
    q, qd = np.array([rest, 0.6 * goal, goal]), np.array([rest, 1.4 * goal, rest])
    problem = Problem(rd.create_dynamics("rnea", PRR), rest, JointGoal(goal))
    found = Plan(PRR.joint_names, t, q, qd, 0.0 * q, np.outer(t, EFFORT), True, "by hand", method="hand")
    return told(lambda path: plot_plan(found, problem, path))


def identified():
    """Two motions; a joint rests in the second, and one in both."""
    found, (one, other) = made_up(PRR)
    tables = *map(str, (friction(found), changes(found), *stated_uncertainty(found, [one, other]))), everything(found)
    return "\n".join((told(found.plot), text(identification_report(found, [one], [other])), *tables))


def reached(draw, *more, **options):
    """Cells around the PRR arm."""
    places = np.array(list(itertools.product(range(-3, 4), range(-3, 5), range(3))), float)
    values = np.round(np.exp(-((places - 0.4) ** 2).sum(axis=1) / 5.0), 3)
    cells = Cells(0.4 * places, values, np.ones(len(places), int), np.arange(len(places)), 0.4)
    return told(lambda path: draw(path, PRR, cells, *more, title="reach", label="m", **options))


def panel():
    """What the panel of the viewer adds to its page."""
    gui, laws = MagicMock(), {"law": ("pd", "impedance")}
    made = Panel(gui, PRR, Requests(*"rhpsecdtlmi"), laws, True, {"pick": Q}, ("skeleton",), ("a mesh is not drawn",))
    made.say("warning", "slow")
    gui.add_dropdown.return_value.options = laws["law"]
    made.set_choice("law", "impedance")
    assert gui.add_dropdown.return_value.value == "impedance"
    made_as = r" at 0x\w+| id='\d+'|np\.float64\(|(?<=\d)\)(?=,)"
    return re.sub(made_as, "", "\n".join(map(str, gui.mock_calls)))


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
    "panel.txt": panel,
    "sweep.txt": swept,
    "trial.txt": lambda: tried(3) + tried(0),
    "plan.txt": planned,
    "compare.txt": compared,
    "derive.txt": lambda: printed("derive", "prr.urdf", "--at", "0.3,-1.83,-0.12"),
    "derive_numbers.txt": lambda: printed("derive", "rr.urdf", "--numbers", "--of", "arm,jacobians,equations"),
    "check.txt": lambda: printed("check", "prr.urdf", "--at", "0.3,-1.83,-0.12", "--gravity", "0", "1", "-9"),
    "identified.txt": identified,
    "workspace.txt": lambda: reached(draw_map, "yz", 0.4, levels=(0.5,)) + reached(draw_views, levels=(0.3,)),
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
