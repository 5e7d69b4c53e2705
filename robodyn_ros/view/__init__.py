# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The picture of the arm in a browser, and marks over it.

The shapes of the URDF (:mod:`~robodyn_ros.view.marks`) and the marks of the state (:mod:`~robodyn_ros.view.overlay`)
are drawn (:mod:`~robodyn_ros.view.drawing`) by :mod:`~robodyn_ros.view.browser`; the panel beside the picture is
:mod:`~robodyn_ros.view.panel`. RViz shows the same marks (``nodes/markers.py``).
"""

from robodyn_ros.view.marks import Arrow, Ball, Line, Mark
from robodyn_ros.view.overlay import LAYERS, Overlay

__all__ = ["LAYERS", "Arrow", "Ball", "Line", "Mark", "Overlay"]
