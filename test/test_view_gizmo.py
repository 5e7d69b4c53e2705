# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The handle at the tool: where it is shown, and when it asks."""

import asyncio
from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from robodyn_ros.kinematics import se3
from robodyn_ros.view.browser import PATIENCE, Gizmo, Pusher

TOOL = se3.exp([0.4, -0.1, 0.8, 0.3, -0.5, 0.2])
ELSEWHERE = se3.exp([0.1, 0.2, 0.9, -0.4, 0.1, 0.7])


class Scene:
    """viser's, as far as the handle needs it."""

    def add_transform_controls(self, name, **look):
        self.handle = SimpleNamespace(name=name, **look, position=None, wxyz=None)
        self.handle.on_update = lambda react: setattr(self, "react", react)
        return self.handle

    def drag(self, phase, pose=None):
        if pose is not None:
            self.handle.position, self.handle.wxyz = pose[:3, 3], quaternion(pose)
        asyncio.run(self.react(SimpleNamespace(phase=phase)))

    @property
    def pose(self):
        return self.handle.position


def quaternion(pose):
    """(w, x, y, z), by the trace; Shoemake 1985."""
    r = pose[:3, :3]
    w = np.sqrt(1.0 + np.trace(r)) / 2.0
    return np.array([w, *(np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4.0 * w))])


def test_it_is_at_the_tool_except_while_it_asks():
    scene, asked, now = Scene(), [], [0.0]
    gizmo = Gizmo(scene, 0.3, asked.append, lambda: now[0])
    gizmo.show(None, False)
    assert not scene.handle.visible  # where the tool is, is not known yet
    gizmo.show(TOOL, True)
    assert scene.handle.visible
    assert_allclose(scene.pose, TOOL[:3, 3])
    assert_allclose(scene.handle.wxyz, quaternion(TOOL), atol=1e-12)

    scene.drag("start")
    scene.drag("update", ELSEWHERE)
    gizmo.show(TOOL, True)
    assert_allclose(scene.pose, ELSEWHERE[:3, 3])
    assert not asked
    scene.drag("end")
    assert len(asked) == 1
    assert_allclose(asked[0], ELSEWHERE, atol=1e-12)

    for moving in (False, True, True, False):  # the arm sets out after a moment
        gizmo.show(TOOL, moving)
        assert_allclose(scene.pose, ELSEWHERE[:3, 3])
        now[0] += 0.9 * PATIENCE
    now[0] += 0.2 * PATIENCE
    gizmo.show(TOOL, False)
    assert_allclose(scene.pose, TOOL[:3, 3])


def test_a_push_lasts_while_its_handle_is_held_and_shown():
    scene, tool, apart = Scene(), np.array([0.4, -0.1, 0.8]), np.array([0.03, 0.0, -0.02])
    pusher = Pusher(scene, 0.3, 200.0)
    pusher.shown = True
    assert pusher.force(tool) is None and scene.handle.visible
    assert_allclose(scene.pose, tool)
    scene.drag("start")
    scene.handle.position = tool + apart
    force = pusher.force(tool)
    assert_allclose(force, 200.0 * apart)
    mark = pusher.mark(tool, force)
    assert_allclose((mark.start, mark.end), (tool, tool + apart))
    pusher.shown = False
    assert pusher.force(tool) is None and not scene.handle.visible
    pusher.shown = True
    scene.drag("end")
    assert pusher.force(tool) is None
    assert_allclose(scene.pose, tool)


def test_after_a_refusal_it_goes_back():
    scene, now = Scene(), [5.0]
    gizmo = Gizmo(scene, 0.3, lambda pose: None, lambda: now[0])
    gizmo.show(TOOL, False)
    scene.drag("start")
    scene.drag("end", ELSEWHERE)
    gizmo.show(TOOL, False)
    assert_allclose(scene.pose, ELSEWHERE[:3, 3])
    now[0] += 1.1 * PATIENCE
    gizmo.show(TOOL, False)
    assert_allclose(scene.pose, TOOL[:3, 3])


def test_a_stream_asks_while_it_is_dragged():
    scene, asked = Scene(), []
    gizmo = Gizmo(scene, 0.3, asked.append)
    gizmo.streams = True
    gizmo.show(TOOL, False)
    scene.drag("start")
    scene.drag("update", ELSEWHERE)
    assert_allclose(asked, [ELSEWHERE], atol=1e-12)
    scene.drag("end", TOOL)
    assert_allclose(asked[1:], [TOOL], atol=1e-12)
