"""What the arm looks like: marks over its picture, and the picture in a browser."""

from robodyn_ros.view.marks import Arrow, Ball, Line, Mark
from robodyn_ros.view.overlay import LAYERS, Overlay

__all__ = ["LAYERS", "Arrow", "Ball", "Line", "Mark", "Overlay"]
