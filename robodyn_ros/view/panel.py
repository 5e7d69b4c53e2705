"""The panel beside the picture: requests to the arm, and live plots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import Joint
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
        """Append a sample. The history begins anew when time runs backwards; a second sample of a time is dropped."""
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

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#222222")
"""Colours of the curves of a plot, in their order."""

PLOTS = {
    "position and reference": ("position", "reference"),
    "error": ("error",),
    "effort by term": TERMS,
}
"""Title of a plot → its signals."""

STATUS = '<div style="padding: 0 0.8em 0.5em; overflow-wrap: anywhere"><b>{name}</b> {text}</div>'
"""The line of status; what is put in has to be escaped."""

AT_FIRST = ("com", "gravity", "effort", "trace", "reference")
"""The layers that are shown at first."""


@dataclass(frozen=True)
class Requests:
    """Functions that the panel calls, in a thread of the browser's server."""

    reference: Callable[[Array], None]  # positions (n,) in [rad] or [m]
    hold: Callable[[], None]
    pause: Callable[[bool], None]
    reset: Callable[[], None]
    step: Callable[[], None]
    choose: Callable[[str, str], None]  # kind of plugin, name


class Panel:
    """The panel beside the picture: requests to the arm, and live plots. It decides nothing."""

    def __init__(
        self, gui: viser.GuiApi, robot: Robot, requests: Requests, choices: Mapping[str, Sequence[str]], simulated: bool
    ) -> None:
        """
        Args:
            gui: viser's user interface.
            robot: the arm.
            requests: the functions to call.
            choices: kind of plugin → names to choose from.
            simulated: True if there is a simulator to pause, step and reset.
        """
        self._gui = gui
        self._robot = robot
        self._requests = requests
        self._status = gui.add_html("")
        self.say("", "waiting for joint states")
        self._sliders: list[Any] = []
        self._choices: dict[str, Any] = {}
        self._quiet = False
        with gui.add_folder("Reference"):
            for joint in robot.joints:
                self._add_slider(joint)
            gui.add_button("Hold", hint="stop at once, and stay").on_click(lambda _: requests.hold())
        if simulated:
            with gui.add_folder("Simulator"):
                self._pause = gui.add_checkbox("Pause", False)
                self._pause.on_update(lambda _: requests.pause(self._pause.value))
                gui.add_button("Step", hint="one period, while paused").on_click(lambda _: requests.step())
                gui.add_button("Reset", hint="back to the start, at time 0").on_click(lambda _: requests.reset())
        with gui.add_folder("Plugins"):
            for kind, names in choices.items():
                self._add_choice(kind, names)
        with gui.add_folder("Show", expand_by_default=False):
            self._boxes = {layer: gui.add_checkbox(layer, layer in AT_FIRST) for layer in (*LAYERS, "reference")}
        with gui.add_folder("Plots"):
            self._joint = gui.add_dropdown("joint", robot.joint_names)
            self._plots = {title: self._add_plot(title, signals) for title, signals in PLOTS.items()}

    @property
    def layers(self) -> frozenset[str]:
        """Names of the layers that are to be shown, ``reference`` for the ghost among them."""
        return frozenset(layer for layer, box in self._boxes.items() if box.value)

    def say(self, name: str, text: str) -> None:
        """Show a line of status, which may hold anything: a name in bold, and a text."""
        content = STATUS.format(name=escape(name), text=escape(text))
        if self._status.content != content:
            self._status.content = content

    def set_sliders(self, q: Array) -> None:
        """Set the sliders to the reference positions (n,) without a request."""
        for slider, value in zip(self._sliders, q, strict=True):
            self._set(slider, float(np.clip(value, slider.min, slider.max)))

    def set_choice(self, kind: str, name: str) -> None:
        """Show the plugin that is in use, without a request."""
        if name in self._choices[kind].options:
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
        for title, signals in PLOTS.items():
            columns = history.columns(signals, index)
            if len(columns[0]) > 1:
                self._plots[title].data = columns

    def _add_slider(self, joint: Joint) -> None:
        least, greatest = max(joint.lower, -np.pi), min(joint.upper, np.pi)
        if least > greatest:  # limits beyond a turn on one side only
            least, greatest = joint.lower, joint.upper
        name = f"{joint.name} [{joint.position_unit}]"
        step = max((greatest - least) / 1000.0, 1e-6)
        start = float(np.clip(0.0, least, greatest))
        slider = self._gui.add_slider(name, float(least), float(greatest), step, start)
        self._sliders.append(slider)
        slider.on_update(lambda _: self._on_slider())

    def _on_slider(self) -> None:
        if not self._quiet:
            self._requests.reference(np.array([slider.value for slider in self._sliders]))

    def _add_choice(self, kind: str, names: Sequence[str]) -> None:
        dropdown = self._choices[kind] = self._gui.add_dropdown(kind, tuple(names))

        def choose(_: Any) -> None:
            if not self._quiet:
                self._requests.choose(kind, dropdown.value)

        dropdown.on_update(choose)

    def _add_plot(self, title: str, signals: tuple[str, ...]) -> Any:
        from viser import uplot

        series = (
            uplot.Series(label="s"),
            *(uplot.Series(label=name, stroke=color, width=2) for name, color in zip(signals, COLORS, strict=False)),
        )
        empty = tuple(np.zeros(2) for _ in range(len(signals) + 1))
        scales = {"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)}
        return self._gui.add_uplot(empty, series, title=title, scales=scales, aspect=1.6)
