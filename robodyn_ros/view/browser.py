"""The arm in a browser: its picture, the ghost of its reference, marks over it, and a panel (built on viser).

Everything is served from this machine, and nothing is loaded from elsewhere. Only who has the address with its token
gets in (:mod:`robodyn_ros.view.gate`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.kinematics import se3
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.gate import Gate
from robodyn_ros.view.overlay import Overlay
from robodyn_ros.view.shapes import Packages, ros_package_path

if TYPE_CHECKING:
    import viser

PATIENCE = 0.5
"""Time that an arm may stand after a request before it counts as one that does not move [s]."""


class Gizmo:
    """A handle in the picture by which the user drags the tool to a target.

    It is shown at the tool. While the user holds it, it follows the mouse; when the user releases it, the tool is asked
    to go there. It stays there until the arm stands again: at the target or, if the target was refused, at the tool.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        size: float,
        ask: Callable[[Array], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """
        Args:
            scene: the scene to draw in.
            size: length of its axes [m].
            ask: called with the pose where it is released, (4, 4), in a thread of the browser's server.
            clock: a monotonic clock [s].
        """
        self._ask, self._clock = ask, clock
        self._grabbed = self._waits = False
        self._rest = 0.0
        self._handle = scene.add_transform_controls("/target", scale=size, depth_test=False, visible=False)
        self._handle.on_update(self._on_update)

    def show(self, tool: Array | None, moving: bool) -> None:
        """Draw it at the tool.

        Args:
            tool: the tool's pose (4, 4), None if it is unknown.
            moving: True while the arm moves.
        """
        if tool is None or self._grabbed:
            return
        now = self._clock()
        if moving:
            self._rest = now + PATIENCE
        if self._waits and now < self._rest:
            return
        self._waits = False
        self._handle.position = tool[:3, 3]
        self._handle.wxyz = np.roll(Rotation.from_matrix(tool[:3, :3]).as_quat(), 1)
        self._handle.visible = True

    async def _on_update(self, event: Any) -> None:
        """React to a phase of a drag. The loop of viser's server calls it, so that the phases keep their order."""
        if event.phase == "start":
            self._grabbed = True
        elif event.phase == "end":
            self._waits, self._rest = True, self._clock() + PATIENCE
            self._grabbed = False
            rotation = Rotation.from_quat(np.roll(self._handle.wxyz, -1)).as_matrix()
            self._ask(se3.motion(rotation, self._handle.position))


GHOST = (0.35, 0.75, 0.45, 0.35)
"""Colour of the ghost, which is the arm at its reference."""

GHOST_APART = 0.005
"""Tracking error from which on the ghost is drawn; below it, arm and ghost would flicker [rad] or [m]."""


class Browser:
    """A server that shows the arm.

    Attributes:
        server: the server of viser.
        url: the address that opens the page; its token is new for each server.
        overlay: the marks.
        missing: one line for each mesh that is not drawn, with the reason.
    """

    def __init__(
        self, robot: Robot, host: str, port: int, tip: str = "", packages: Packages = ros_package_path
    ) -> None:
        """
        Args:
            robot: the arm.
            host: address to listen at; 127.0.0.1 is this machine only.
            port: port to listen at.
            tip: name of the link that is traced; the last that moves unless given.
            packages: function that finds the packages of meshes.

        Raises:
            ConfigurationError: viser is not installed or not the right one, or the port is taken.
            RobodynError: there is no such link, or the URDF's shapes cannot be read.
        """
        try:
            import viser
        except ImportError as cause:
            raise ConfigurationError("the viewer needs viser: pip install 'robodyn_ros[viewer]'") from cause
        check_free(host, port)
        self.overlay = Overlay(robot, tip)
        gate = Gate(host, port)
        self.url = gate.url
        with gate.installed(), redirect_stdout(StringIO()):  # it would print a banner, verbose or not
            self.server = viser.ViserServer(host=host, port=port, label=robot.name, verbose=False)
        scene, size = self.server.scene, self.overlay.size
        scene.set_up_direction("+z")
        # Drawn in software (no graphics card), 25 frames a second; with shadows it would be 0.4.
        scene.configure_default_lights(cast_shadow=False)
        self._arm = ArmDrawing(scene, robot, "/arm", packages)
        self._ghost = ArmDrawing(scene, robot, "/ghost", packages, GHOST)
        self._ghost.show(False)
        self._marks = MarkDrawing(scene, "/marks")
        self.missing = self._arm.missing
        scene.add_grid("/grid", 8.0 * size, 8.0 * size, cell_size=size / 2.0, section_size=size)
        camera = self.server.initial_camera
        middle = np.array([0.0, 0.0, size])
        camera.position, camera.look_at = middle + size * np.array([1.0, -2.6, 0.7]), middle

    def show(self, q: Array, qd: Array, effort: Array | None, reference: Array | None, layers: frozenset[str]) -> None:
        """Draw a state.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
            effort: the commanded effort (n,) in [N·m] or [N], None if unknown.
            reference: the reference positions (n,), None if unknown.
            layers: names of the layers to show.
        """
        with self.server.atomic():
            self._arm.move(q)
            apart = reference is not None and float(np.abs(reference - q).max()) > GHOST_APART
            self._ghost.show(apart and "reference" in layers)
            if reference is not None and apart:
                self._ghost.move(reference)
            marks = self.overlay.marks(q, qd, effort, reference)
            self._marks.draw(mark for mark in marks if mark.layer in layers)

    def stop(self) -> None:
        """Close the server."""
        self.server.stop()


def check_free(host: str, port: int) -> None:
    """Check that a port is free, because viser would silently take another one.

    Raises:
        ConfigurationError: the port is taken, or the address is not this machine's.
    """
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as cause:
            problem = f"cannot listen at {host}:{port}: {cause}; choose another port, from 1 to 65535"
            raise ConfigurationError(problem) from cause
