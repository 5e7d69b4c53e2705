# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arms and marks in viser's scene."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.so3 import quaternion
from robodyn_ros.robot import Array, Robot
from robodyn_ros.view.marks import Arrow, Ball, Color, Line, Mark, Meshes, Shape, moving_shapes, read_shapes

if TYPE_CHECKING:
    import viser

SAME_PLACE = 0.002
"""Difference of poses below which two drawings of a link coincide, in [m] and of the elements of a rotation [-]."""


class ArmDrawing:
    """The shapes of an arm, moved by its joints.

    Attributes:
        bodies: indices of the bodies that have a drawn shape.
    """

    def __init__(
        self, scene: viser.SceneApi, robot: Robot, root: str, meshes: Meshes, ghost: Color | None = None
    ) -> None:
        """
        Args:
            scene: the scene to draw in.
            robot: the arm.
            root: name in the scene under which it is drawn.
            meshes: the files of its meshes.
            ghost: colour in which only the shapes that move are drawn; all shapes in their own colours unless given.

        Raises:
            RobotDescriptionError: the URDF's shapes cannot be read.
        """
        self._kinematics = Kinematics(robot)
        shapes = read_shapes(robot) if ghost is None else moving_shapes(robot)
        body = {link.name: link.body for link in robot.links}
        self.bodies: set[int] = set()
        links = {shape.link for shape in shapes}
        self._frames = {name: scene.add_frame(f"{root}/{name}", show_axes=False) for name in links}
        self._top = scene.add_frame(root, show_axes=False)
        self._poses: dict[str, Array] = {}
        self._corners: list[tuple[str, Array]] = []
        for index, shape in enumerate(shapes):
            if (corners := shape.corners(meshes)) is not None:
                self._corners.append((shape.link, corners))
            if _draw(scene, f"{root}/{shape.link}/{index}", shape, ghost, meshes):
                self.bodies.add(body[shape.link])
        self.move(robot.home)

    def move(self, q: Array, beside: ArmDrawing | None = None) -> None:
        """Draw the arm at positions q (n,).

        Args:
            q: in [rad] or [m].
            beside: another drawing of the same arm; a link at the same pose is hidden, because both would flicker.
        """
        for link, frame in self._frames.items():
            pose = self._poses[link] = self._kinematics.pose(link, q)
            frame.position, frame.wxyz = pose[:3, 3], quaternion(pose[:3, :3])
            if beside is not None:
                apart = bool((np.abs(pose - beside._poses[link]) > SAME_PLACE).any())
                if frame.visible != apart:
                    frame.visible = apart

    def places(self, q: Array) -> Array:
        """The corners of the boxes around the drawn shapes, (k, 3) in the root link's frame [m].

        Args:
            q: positions (N, n) in [rad] or [m].
        """
        places = [np.zeros((0, 3))]
        for link, corners in self._corners:
            pose = self._kinematics.pose(link, q)
            turned = np.einsum("...ij,kj->...ki", pose[..., :3, :3], corners) + pose[..., None, :3, 3]
            places.append(turned.reshape(-1, 3))
        return np.concatenate(places)

    def show(self, visible: bool) -> None:
        """Show or hide the arm."""
        self._top.visible = visible


class MarkDrawing:
    """The marks; each is drawn once and then only changed."""

    def __init__(self, scene: viser.SceneApi, root: str) -> None:
        """
        Args:
            scene: the scene to draw in.
            root: name in the scene under which they are drawn.
        """
        self._scene = scene
        self._root = root
        self._handles: dict[str, Any] = {}

    def draw(self, marks: Iterable[Mark]) -> None:
        """Show these marks, and no others."""
        seen = set()
        for mark in marks:
            name = f"{self._root}/{mark.layer}/{mark.name}"
            seen.add(name)
            handle = self._handles.get(name)
            if handle is None:
                handle = self._handles[name] = _add(self._scene, name, mark)
            else:
                _change(handle, mark)
            if not handle.visible:
                handle.visible = True
        for name, handle in self._handles.items():
            if name not in seen and handle.visible:
                handle.visible = False


def _draw(scene: viser.SceneApi, name: str, shape: Shape, ghost: Color | None, meshes: Meshes) -> bool:
    """Draw a shape; True if any of it is visible."""
    pose: dict[str, Any] = {"position": shape.pose.translation, "wxyz": quaternion(shape.pose.rotation)}
    look = _look(ghost or shape.color)
    if shape.kind == "box":
        scene.add_box(name, dimensions=np.array(shape.size), **look, **pose)
    elif shape.kind == "cylinder":
        scene.add_cylinder(name, radius=shape.size[0], height=shape.size[1], **look, **pose)
    elif shape.kind == "sphere":
        scene.add_icosphere(name, radius=shape.size[0], **look, **pose)
    else:
        for index, part in enumerate(parts := meshes.parts(shape.mesh)):
            vertices, own = part.vertices * np.array(shape.size), look if shape.painted or ghost else _look(part.color)
            scene.add_mesh_simple(f"{name}/{index}", vertices.astype(np.float32), part.faces, **own, **pose)
        return bool(parts)
    return True


def _look(color: Color) -> dict[str, Any]:
    return {"color": _rgb(color), "opacity": color[3] if color[3] < 1.0 else None}


def _add(scene: viser.SceneApi, name: str, mark: Mark) -> Any:
    """Draw a mark that is not there yet, and return its handle."""
    if isinstance(mark, Ball):
        handle = scene.add_icosphere(name, radius=1.0, **_look(mark.color), cast_shadow=False)
        _change(handle, mark)
        return handle
    points, color = _segments(mark), _rgb(mark.color)
    if isinstance(mark, Line):
        return scene.add_line_segments(name, points=points, colors=color, thickness=mark.width)
    shaft = {"shaft_radius": mark.radius, "head_radius": 2.0 * mark.radius, "head_length": 3.0 * mark.radius}
    return scene.add_arrows(name, points=points, colors=color, **shaft)


def _change(handle: Any, mark: Mark) -> None:
    """Bring a mark to its present place, size and colour."""
    if isinstance(mark, Ball):
        handle.position, handle.wxyz = mark.center, quaternion(mark.rotation)
        handle.scale = tuple(map(float, mark.radii))
    else:
        handle.points, handle.colors = _segments(mark), np.array(_rgb(mark.color), dtype=np.uint8)


def _segments(mark: Arrow | Line) -> Array:
    """The straight parts of a mark, (k, 2, 3)."""
    points = mark.points if isinstance(mark, Line) else np.array([mark.start, mark.end])
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def _rgb(color: Color) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in color[:3])
    return red, green, blue
