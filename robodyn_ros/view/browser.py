# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm in a browser: its picture, the ghost of its reference, marks over it, and a panel (built on viser).

Everything is served from this machine, and nothing is loaded from elsewhere. The page opens only by the address with
its token (:mod:`robodyn_ros.view.gate`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import ConfigurationError, pip_install
from robodyn_ros.kinematics import se3
from robodyn_ros.kinematics.so3 import quaternion
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, quaternion_rotation
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.gate import Gate
from robodyn_ros.view.marks import WRENCH, Arrow, Mark, Meshes
from robodyn_ros.view.overlay import SKELETON, Overlay

if TYPE_CHECKING:
    import viser

Known = Array | None
"""Values of the joints (n,), None if they are unknown."""

PATIENCE = 0.5
"""Time of rest after a request from which on the arm counts as one that does not move [s]."""


class Gizmo:
    """A handle in the picture by which the user drags the tool to a target.

    It is shown at the tool. While the user holds it, it follows the mouse; its release requests a motion of the tool
    to that pose. It stays there until the arm is at rest again: at the target or, if that was refused, at the tool.

    Attributes:
        streams: True if the tool also follows it while the user holds it.
    """

    def __init__(
        self, scene: viser.SceneApi, size: float, ask: Callable[[Array], None], clock: Callable[[], float] = monotonic
    ) -> None:
        """
        Args:
            scene: the scene to draw in.
            size: length of its axes [m].
            ask: called with the pose where it is released, (4, 4), in a thread of the browser's server.
            clock: a monotonic clock [s].
        """
        self._ask, self._clock = ask, clock
        self._grabbed = self._waits = self.streams = False
        self._rest = 0.0
        self._handle = scene.add_transform_controls("/target", scale=size, depth_test=False, visible=False)
        self._handle.on_update(self._on_update)

    def show(self, tool: Array | None, moving: bool) -> None:
        """Draw it at the tool.

        Args:
            tool: the tool's pose (4, 4), None to hide the handle.
            moving: True while the arm moves.
        """
        if self._grabbed:
            return
        if tool is None:
            self._handle.visible = False
            return
        now = self._clock()
        if moving:
            self._rest = now + PATIENCE
        if self._waits and now < self._rest:
            return
        self._waits = False
        self._handle.position = tool[:3, 3]
        self._handle.wxyz = quaternion(tool[:3, :3])
        self._handle.visible = True

    async def _on_update(self, event: Any) -> None:
        """React to a phase of a drag. The loop of viser's server calls it, so that the phases keep their order."""
        if event.phase == "start":
            self._grabbed = True
        elif event.phase == "end":
            self._waits, self._rest = True, self._clock() + PATIENCE
            self._grabbed = False
        if event.phase == "end" or (event.phase == "update" and self.streams):
            self._ask(se3.motion(quaternion_rotation(self._handle.wxyz), self._handle.position))


class Pusher:
    """A handle at the tool that pushes the arm: a force towards it, proportional to its distance, while it is held."""

    def __init__(self, scene: viser.SceneApi, size: float, per_metre: float) -> None:
        """
        Args:
            scene: the scene to draw in.
            size: length of its axes [m].
            per_metre: force by distance [N/m].
        """
        self._size, self._per_metre = size, per_metre
        self._grabbed = self.shown = False
        self._handle = scene.add_transform_controls(
            "/push", scale=size, depth_test=False, disable_rotations=True, visible=False
        )
        self._handle.on_update(self._on_update)

    def force(self, tool: Array) -> Array | None:
        """The force in the root link's axes (3,) [N] while the handle is held; else None, and it is at the tool.

        Args:
            tool: place of the tool (3,) [m].
        """
        if self._handle.visible != self.shown:
            self._handle.visible = self.shown
        if self._grabbed and self.shown:
            return self._per_metre * (np.asarray(self._handle.position) - tool)
        self._handle.position = tool
        return None

    def mark(self, tool: Array, force: Array) -> Arrow:
        """The arrow of a force that acts at the tool."""
        return Arrow(WRENCH, "force", tool, tool + force / self._per_metre, 0.03 * self._size, PUSH_COLOR)

    async def _on_update(self, event: Any) -> None:
        if event.phase in ("start", "end"):
            self._grabbed = event.phase == "start"


PUSH_COLOR = (0.86, 0.15, 0.15, 1.0)

GHOST = (0.35, 0.75, 0.45, 0.35)
"""Colour of the ghost, which is the arm at its reference."""

GHOST_APART = 0.005
"""Tracking error above which the ghost is drawn; below it, arm and ghost would flicker [rad] or [m]."""


PANEL = 340.0
"""Width of the panel, which is at the right of a wide window [px]."""

NARROW = 650.0
"""Width of a window below which the panel covers its lower part [px]."""

SHEET = 0.6
"""Fraction of a narrow window's height that the panel covers."""

FIELD_OF_VIEW = 0.7
"""Vertical field of view [rad]; parallels look parallel in a narrow one."""

EYE = np.array([1.0, -2.6, 0.9]) / np.linalg.norm([1.0, -2.6, 0.9])
"""Direction from the arm to the eye."""

FILLED = 0.85
"""Fraction of the free part of the window that the arm fills."""

DIRECTIONS = 200
"""Number of directions whose outermost points are sent to the page, which needs no others."""

PICTURE_HEIGHT = 1080
"""Height of a picture that is saved [px]."""

PORT = 8080
"""Port of a page, unless one is given or it is taken."""


class Browser:
    """A server that shows the arm.

    Attributes:
        server: the server of viser.
        url: the address that opens the page; its token is new for each server.
        overlay: the marks.
        meshes: the files of its meshes; their ``missing`` are lines about those that are not drawn.
        at_first: names of the layers to show by default: a skeleton in place of missing shapes.
    """

    def __init__(self, robot: Robot, host: str, port: int, tip: str = "", near: str = "", title: str = "") -> None:
        """
        Args:
            robot: the arm.
            host: address to listen at; 127.0.0.1 is this machine only.
            port: port to listen at; 0 for the first free one from ``PORT`` on.
            tip: name of the link that is traced; the last that moves unless given.
            near: path of the URDF, as :class:`~robodyn_ros.view.marks.Meshes` takes it.
            title: of the page; the arm's name unless given.

        Raises:
            ConfigurationError: viser is not installed or not the right one, or the port is taken.
            RobodynError: there is no such link, or the URDF's shapes cannot be read.
        """
        check_free(host, port)
        import viser

        self.overlay = Overlay(robot, tip)
        gate = Gate(host, port or PORT, title or robot.name)
        with gate.installed(), redirect_stdout(StringIO()):  # it would print a banner, verbose or not
            self.server = viser.ViserServer(host=host, port=gate.port, label=robot.name, verbose=False)
        self.url = gate.url
        if port and gate.port != port:  # a viewer that was started together with this one was faster
            self.server.stop()
            raise ConfigurationError(f"cannot listen at {host}:{port}: it is taken; choose another port")
        scene, size = self.server.scene, self.overlay.size
        # The button shares the scene by a server elsewhere.
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        # Drawn in software (no graphics card), 25 frames a second; with shadows it would be 0.4.
        scene.configure_default_lights(cast_shadow=False)
        self.meshes = Meshes(near)
        self._arm = ArmDrawing(scene, robot, "/arm", self.meshes)
        self._ghost: ArmDrawing | None = None  # made when it is first shown: its meshes are as large as the arm's
        self._marks = MarkDrawing(scene, "/marks")
        whole = not self.meshes.missing and self._arm.bodies >= set(range(len(robot.bodies)))
        self.at_first = frozenset() if whole else frozenset({SKELETON})
        scene.add_grid("/grid", 8.0 * size, 8.0 * size, cell_size=size / 2.0, section_size=size)
        q = self.overlay.some_positions()
        gate.head = page_head(np.concatenate([self.overlay.places(q), self._arm.places(q)]), size)

    def send_picture(self, event: Any) -> None:
        """Send a picture of the scene to the window that asks for it, as a file to save.

        Args:
            event: of viser; nothing happens if its window is gone.
        """
        import imageio.v3 as iio

        client = event.client
        if client is None:
            return
        height, width = PICTURE_HEIGHT, round(PICTURE_HEIGHT * client.camera.aspect)
        image = client.get_render(height=height, width=width, transport_format="png")
        name = re.sub(r"[^\w.-]+", "_", self.overlay.robot.name)[:80] or "arm"
        content = iio.imwrite("<bytes>", on_white(image), extension=".png")
        client.send_file_download(f"{name}.png", content, save_immediately=True)

    def show(
        self, q: Array, qd: Array, effort: Known, reference: Known, layers: frozenset[str], more: Iterable[Mark] = ()
    ) -> None:
        """Draw a state.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
            effort: the commanded effort (n,) in [N·m] or [N], None if unknown.
            reference: the reference positions (n,), None if unknown.
            layers: names of the layers to show.
            more: marks to draw besides those of the overlay, of any layer.
        """
        with self.server.atomic():
            self._arm.move(q)
            apart = reference is not None and float(np.abs(reference - q).max()) > GHOST_APART
            ghostly = apart and "reference" in layers
            if ghostly and self._ghost is None:
                self._ghost = ArmDrawing(self.server.scene, self.overlay.robot, "/ghost", self.meshes, GHOST)
            if self._ghost is not None:
                self._ghost.show(ghostly)
            if reference is not None and ghostly and self._ghost is not None:
                self._ghost.move(reference, self._arm)
            marks = self.overlay.marks(q, qd, effort, reference)
            self._marks.draw([*(mark for mark in marks if mark.layer in layers), *more])

    def stop(self) -> None:
        """Close the server."""
        self.server.stop()


def page_head(points: Array, size: float) -> str:
    """The contents of the page's head: its style, and the script that places the camera.

    The page computes the camera itself (``page.html``), because only the page knows its window, in the pixels of its
    panel, before anything is drawn.

    Args:
        points: points that must be in the picture (k, 3) [m].
        size: of the arm [m].
    """
    right = np.cross([0.0, 0.0, 1.0], EYE)
    right /= np.linalg.norm(right)
    axes = np.array([right, np.cross(EYE, right), EYE])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    seen = (points - middle) @ axes.T
    directions = np.random.default_rng(0).normal(size=(DIRECTIONS, 3))
    outermost = np.unique((seen @ directions.T).argmax(axis=0))
    arm = {"points": np.round(seen[outermost] / size, 4) * size, "axes": axes, "middle": middle}
    camera = {"fov": FIELD_OF_VIEW, "near": 0.01 * size, "far": 100.0 * size}
    window = {"narrow": NARROW, "panel": PANEL, "sheet": SHEET, "filled": FILLED}
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return text.replace("VIEW,", json.dumps({**arm, **camera, **window}, default=np.ndarray.tolist) + ",", 1)


def on_white(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture (height, width, 4) on white (height, width, 3), without empty rows and columns."""
    drawn = image[:, :, 3] > 0
    if drawn.any():
        rows, columns = (np.flatnonzero(drawn.any(axis=axis)) for axis in (1, 0))
        image = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    opacity = image[:, :, 3:] / 255.0
    return np.round(opacity * image[:, :, :3] + (1.0 - opacity) * 255.0).astype(np.uint8)


def check_free(host: str, port: int) -> None:
    """Check that viser is there to serve a page, and that a port is free, because viser would silently take another
    one; of 0, that the address can be used.

    Raises:
        ConfigurationError: viser is not installed, the port is taken, or the address is not this machine's.
    """
    import socket

    if find_spec("viser") is None:
        raise ConfigurationError(f"the viewer needs viser: {pip_install('robodyn_ros[viewer]')}")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as cause:
            reason = str(cause).rstrip(".")
            others = "choose another port, from 1 to 65535, or 0 for the first free one"
            raise ConfigurationError(f"cannot listen at {host}:{port}: {reason}; {others}") from cause
