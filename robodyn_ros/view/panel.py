# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The panel beside the picture: requests to the arm, and live plots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robodyn_ros.robot import Array, Joint, Robot, position_ranges
from robodyn_ros.view.overlay import LAYERS

if TYPE_CHECKING:
    import viser


class History:
    """The last seconds of named signals, each (n,) or missing, for live plots."""

    def __init__(self, span: float, n: int) -> None:
        """
        Args:
            span: its length [s].
            n: number of values of a signal.
        """
        self._span = span
        self._n = n
        self._samples: deque[tuple[float, dict[str, Array]]] = deque()

    def add(self, time: float, signals: Mapping[str, Array | None]) -> None:
        """Append a sample. The history starts again when time goes back; a second sample of a time is dropped."""
        samples = self._samples
        if samples and time < samples[-1][0]:
            samples.clear()
        if samples and time == samples[-1][0]:
            return
        samples.append((time, {name: values.copy() for name, values in signals.items() if values is not None}))
        while samples[0][0] < time - self._span:
            samples.popleft()

    def columns(self, names: tuple[str, ...], index: int) -> tuple[Array, ...]:
        """Time before now (k,) [s], and the values of one joint (k,) for each signal, NaN where they are missing."""
        times = np.array([time for time, _ in self._samples])
        missing = np.full(self._n, np.nan)
        rows = [[signals.get(name, missing)[index] for _, signals in self._samples] for name in names]
        return (times - times[-1] if len(times) else times, *(np.array(row) for row in rows))


TERMS = ("gravity", "coriolis", "inertia", "friction", "feedback", "total")
"""The terms of the control law, in the order of the plot."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#222222")
"""Colours of the curves of a plot, in their order (Okabe and Ito: distinct also to the colour-blind)."""


class Plot(NamedTuple):
    """A live plot of one joint."""

    signals: tuple[str, ...]
    of_effort: bool  # in the unit of the joint's effort, else of its position
    least: float  # span of the scale, so that noise does not fill it: [rad] or [m], or ratio of the effort limit
    thousandths: bool = False  # shown in [mrad] or [mm]: uPlot cuts numbers that are long


PLOTS = {
    "position and reference": Plot(("position", "reference"), False, 0.1),
    "error": Plot(("error",), False, 0.002, thousandths=True),
    "effort by term": Plot(TERMS, True, 0.02),
}
"""Title of a plot → its contents."""

STATUS = '<div style="padding: 0 0.8em 0.5em; overflow-wrap: anywhere"><b>{name}</b> {text}</div>'
"""The line of status; its contents must be escaped."""

NOTE = '<div style="padding: 0 0.8em 0.5em; overflow-wrap: anywhere; color: #b45309; font-size: 0.85em">{text}</div>'
"""A line about a missing part of the picture; likewise."""

AT_FIRST = ("com", "gravity", "effort", "trace", "reference")
"""The layers that are shown at first."""

NO_POSE = "…"
"""Text of the choice of a pose before and after a choice."""

STILL, SAME = 0.5, 1e-4
"""Time for which the reference has to rest until the sliders show it [s], and difference that is rest [rad] or [m]."""

SOFTEST, STIFFEST = 0.1, 4.0
"""Range of the factor on the stiffness."""

PAYLOAD_RATIO = 0.25
"""Greatest payload of the slider, relative to the moving mass."""


class Requests(NamedTuple):
    """Functions that the panel calls, in a thread of the browser's server; a control without one is not shown."""

    reference: Callable[[Array], None]  # positions (n,) in [rad] or [m]
    hold: Callable[[], None] | None
    pause: Callable[[bool], None]
    reset: Callable[[], None]
    step: Callable[[], None]
    choose: Callable[[str, str], None]  # kind of plugin, name
    demo: Callable[[], None] | None = None  # move through some poses
    stiffness: Callable[[float], None] | None = None  # factor on that of the start
    payload: Callable[[float, bool], None] | None = None  # mass [kg], True if the controller's model has it too
    push: Callable[[bool], None] | None = None  # show the handle that pushes the arm
    picture: Callable[[Any], None] | None = None  # event of viser, which names the client


class Panel:
    """The panel beside the picture: requests to the arm, and live plots."""

    def __init__(
        self,
        gui: viser.GuiApi,
        robot: Robot,
        requests: Requests,
        choices: Mapping[str, Sequence[str]],
        simulated: bool,
        poses: Mapping[str, Array] | None = None,
        layers: Iterable[str] = AT_FIRST,
        notes: Sequence[str] = (),
    ) -> None:
        """
        Args:
            gui: viser's user interface.
            robot: the arm.
            requests: the functions to call.
            choices: kind of plugin → names to choose from.
            simulated: True if there is a simulator to pause, step and reset.
            poses: name → positions (n,) to go to in [rad] or [m].
            layers: names of the layers that are shown at first.
            notes: lines about parts that are not drawn.
        """
        self._gui = gui
        self._robot = robot
        self._requests = requests
        self._poses = dict(poses or {})
        self._sliders: list[Any] = []
        self._goal: Array | None = None  # positions (n,) that the sliders stand for, some of which they cannot show
        self._seen, self._changed = np.full(robot.n, np.inf), 0.0  # the latest reference, and when it or they changed
        self._choices: dict[str, Any] = {}
        self._quiet = False
        self._status = gui.add_html("")
        self.say("", "waiting for joint states")
        for note in notes:
            gui.add_html(NOTE.format(text=escape(note)))
        with gui.add_folder("Move"):
            for joint, lower, upper in zip(robot.joints, *position_ranges(robot), strict=True):
                self._add_slider(joint, float(lower), float(upper))
            hint = "while you drag the handle at the tool; otherwise a motion to it is planned when you let go"
            self._follows_handle = gui.add_checkbox("follow handle", False, hint=hint)
            self._add_motions()
        if simulated:
            with gui.add_folder("Simulation"):
                self._add_simulation()
        if choices:
            with gui.add_folder("Control", expand_by_default=False):
                for kind, names in choices.items():
                    self._add_choice(kind, names)
                self._add_stiffness()
        with gui.add_folder("Show", expand_by_default=False):
            self._boxes = {layer: gui.add_checkbox(layer, layer in set(layers)) for layer in (*LAYERS, "reference")}
            if requests.picture is not None:
                gui.add_button("Save a picture").on_click(requests.picture)
        with gui.add_folder("Plots"):
            self._joint = gui.add_dropdown("joint", robot.joint_names)
            self._plots = {title: self._add_plot(plot) for title, plot in PLOTS.items()}

    @property
    def layers(self) -> frozenset[str]:
        """Names of the layers to show, including ``reference`` for the ghost."""
        return frozenset(layer for layer, box in self._boxes.items() if box.value)

    @property
    def follows_handle(self) -> bool:
        """True if the tool is to follow the handle while the user drags it."""
        return bool(self._follows_handle.value)

    def say(self, name: str, text: str) -> None:
        """Show a line of status, of any characters: a name in bold, and a text."""
        content = STATUS.format(name=escape(name), text=escape(text))
        if self._status.content != content:
            self._status.content = content

    def follow(self, q: Array, now: float) -> None:
        """Set the sliders to the reference positions (n,) once these rest: a slider that moves asks for all joints.

        Args:
            q: in [rad] or [m].
            now: time of a clock that never goes back [s].
        """
        if (np.abs(q - self._seen) > SAME).any():
            self._seen, self._changed = q, now
        goal = self._goal
        if goal is None or (now - self._changed > STILL and (np.abs(q - goal) > SAME).any()):
            self.set_sliders(q)

    def set_sliders(self, q: Array) -> None:
        """Set the sliders to the reference positions (n,) without a request."""
        self._goal = np.array(q)
        for slider, value in zip(self._sliders, q, strict=True):
            self._set(slider, round(float(np.clip(value, slider.min, slider.max)), 4) + 0.0)  # -0.0 becomes 0

    def set_choice(self, kind: str, name: str) -> None:
        """Show the plugin that is in use, without a request."""
        if kind in self._choices and name in self._choices[kind].options:
            self._set(self._choices[kind], name)

    def _set(self, handle: Any, value: Any) -> None:
        self._quiet = True
        try:
            handle.value = value
        finally:
            self._quiet = False

    def plot(self, history: History) -> None:
        """Draw the curves of the selected joint."""
        index = self._robot.joint_names.index(self._joint.value)
        joint = self._robot.joints[index]
        for (title, plot), handle in zip(PLOTS.items(), self._plots.values(), strict=True):
            columns = history.columns(plot.signals, index)
            if len(columns[0]) < 2:
                continue
            unit = joint.effort_unit if plot.of_effort else joint.position_unit
            limit = joint.effort if np.isfinite(joint.effort) else 1.0
            low, high = plot_range(columns[1:], plot.least * (limit if plot.of_effort else 1.0))
            if plot.thousandths:
                unit, low, high = f"m{unit}", 1e3 * low, 1e3 * high
                columns = (columns[0], *(1e3 * values for values in columns[1:]))
            handle.title = f"{title} [{unit}]"
            handle.scales = plot_scales(float(columns[0][0]), low, high)
            handle.data = columns

    def _add_slider(self, joint: Joint, least: float, greatest: float) -> None:
        """Add a slider between two positions; that of a rotation stays within half a turn of 0, if it can."""
        if not joint.is_prismatic and max(least, -np.pi) < min(greatest, np.pi):
            least, greatest = max(least, -np.pi), min(greatest, np.pi)
        if greatest - least > 0.1:  # shorter numbers at the ends of the slider
            least, greatest = np.ceil(1e3 * least) / 1e3, np.floor(1e3 * greatest) / 1e3
        name = f"{joint.name} [{joint.position_unit}]"
        step = max((greatest - least) / 1000.0, 1e-6)
        start = float(np.clip(0.0, least, greatest))
        slider = self._gui.add_slider(name, float(least), float(greatest), step, start)
        slider.on_update(partial(self._on_slider, len(self._sliders)))
        self._sliders.append(slider)

    def _on_slider(self, index: int, _: Any) -> None:
        """Ask for the position of a slider; the other joints stay where they are, or go on to where they were sent."""
        if self._quiet or self._goal is None:  # before the first state
            return
        self._goal = goal = self._goal.copy()
        goal[index], self._changed = self._sliders[index].value, monotonic()
        self._requests.reference(goal)

    def _add_motions(self) -> None:
        if self._poses:
            goal = self._gui.add_dropdown("go to", (NO_POSE, *self._poses))

            def go(_: Any) -> None:
                if goal.value in self._poses:
                    q = self._poses[goal.value]
                    self.set_sliders(q)
                    self._changed = monotonic()
                    self._set(goal, NO_POSE)
                    self._requests.reference(q)

            goal.on_update(go)
        motions = {"Hold": self._requests.hold, "Demo": self._requests.demo}
        offered = {name: call for name, call in motions.items() if call is not None}
        group = self._gui.add_button_group("arm", tuple(offered), hint="Demo: move every joint, and come back")
        group.on_click(lambda _: offered[group.value]())

    def _add_simulation(self) -> None:
        gui, requests = self._gui, self._requests
        pause = gui.add_checkbox("pause", False)
        pause.on_update(lambda _: requests.pause(pause.value))
        steps = {"Step": requests.step, "Reset": requests.reset}
        hint = "Step: one period, while paused; Reset: to the start, at time 0"
        group = gui.add_button_group("time", tuple(steps), hint=hint)
        group.on_click(lambda _: steps[group.value]())
        payload, push = requests.payload, requests.push
        if payload is not None:
            most = sum(body.inertial.mass for body in self._robot.bodies) * PAYLOAD_RATIO
            most = float(f"{most:.1g}") or 1.0
            mass = gui.add_slider("payload [kg]", 0.0, most, most / 100.0, 0.0, hint="payload of the arm")
            told = gui.add_checkbox("in the model too", False, hint="whether the controller gets it")

            def change(_: Any) -> None:
                payload(mass.value, told.value)

            mass.on_update(change)
            told.on_update(change)
        if push is not None:
            text = "drag the handle at the tool: the force grows with the distance, and ends with the release"
            allowed = gui.add_checkbox("push it by the mouse", False, hint=text)
            allowed.on_update(lambda _: push(allowed.value))

    def _add_stiffness(self) -> None:
        stiffness = self._requests.stiffness
        if stiffness is not None:
            text = "factor on the stiffness of every joint; the damping ratio stays"
            factor = self._gui.add_slider("stiffness", SOFTEST, STIFFEST, 0.1, 1.0, hint=text)
            factor.on_update(lambda _: stiffness(factor.value))

    def _add_choice(self, kind: str, names: Sequence[str]) -> None:
        dropdown = self._choices[kind] = self._gui.add_dropdown(kind, tuple(names))

        def choose(_: Any) -> None:
            if not self._quiet:
                self._requests.choose(kind, dropdown.value)

        dropdown.on_update(choose)

    def _add_plot(self, plot: Plot) -> Any:
        from viser import uplot

        curves = zip(plot.signals, COLORS, strict=False)
        series = [uplot.Series(label=name, stroke=color, width=2) for name, color in curves]
        empty = tuple(np.zeros(2) for _ in range(len(series) + 1))
        legend = uplot.Legend(show=len(series) > 1, live=False)
        look = {"title": " ", "scales": plot_scales(-1.0, -1.0, 1.0), "legend": legend, "padding": (12, 12, 0, 12)}
        return self._gui.add_uplot(empty, (uplot.Series(label="time [s]"), *series), **look, aspect=1.6)


def plot_range(curves: Iterable[Array], least: float) -> tuple[float, float]:
    """The ends of a plot's scale: all values, with a margin, over no less than a span, and 0 if it is near.

    Args:
        curves: values of the curves, (k,) each; NaN is missing.
        least: least length of the scale.
    """
    values = np.concatenate([np.ravel(curve) for curve in curves])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if 0.0 < low < 0.5 * (high - low):
        low = 0.0
    if 0.0 < -high < 0.5 * (high - low):
        high = 0.0
    middle, half = (low + high) / 2.0, max(0.55 * (high - low), least / 2.0)
    return middle - half, middle + half


def plot_scales(first: float, low: float, high: float) -> dict[str, Any]:
    """The scales of a plot: from a time [s] to now, and between two values."""
    from viser import uplot

    return {"x": uplot.Scale(time=False, range=(first, 0.0)), "y": uplot.Scale(range=(low, high))}
