"""A handle in the picture by which the tool is dragged to where it shall go.

It is where the tool is. Once grabbed it follows the mouse, and when it is let go the tool is asked to go there. There
it stays until the arm stands again: at the target, or, if that was refused, it goes back to the tool, which never left.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_ros.kinematics import se3
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    import viser

PATIENCE = 0.5
"""How long an arm that was asked to go somewhere may stand before it counts as one that stays [s]."""


class Gizmo:
    """See the module."""

    def __init__(
        self,
        scene: viser.SceneApi,
        size: float,
        ask: Callable[[Array], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """
        Args:
            scene: to draw in.
            size: of its axes [m].
            ask: called with the pose where it was let go, (4, 4), in a thread of the browser's server.
            clock: time that never goes back [s].
        """
        self._ask, self._clock = ask, clock
        self._grabbed = self._waits = False
        self._rest = 0.0
        self._handle = scene.add_transform_controls("/target", scale=size, depth_test=False, visible=False)
        self._handle.on_update(self._on_update)

    def show(self, tool: Array | None, moving: bool) -> None:
        """Draw it for a pose of the tool (4, 4), None if that is unknown, and an arm that moves or does not."""
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
        """Called in the loop of the browser's server, so that the phases come in their order."""
        if event.phase == "start":
            self._grabbed = True
        elif event.phase == "end":
            self._waits, self._rest = True, self._clock() + PATIENCE
            self._grabbed = False
            rotation = Rotation.from_quat(np.roll(self._handle.wxyz, -1)).as_matrix()
            self._ask(se3.motion(rotation, self._handle.position))
