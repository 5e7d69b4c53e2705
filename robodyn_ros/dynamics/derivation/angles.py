"""Rotations as a URDF gives them."""

from __future__ import annotations

import warnings

from scipy.spatial.transform import Rotation

from robodyn_ros.robot.pose import Array


def roll_pitch_yaw(rotation: Array) -> Array:
    """Turns about the fixed x, y and z axis, in this order, (3,) in [rad]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a pitch of a quarter turn has many rolls and yaws, and any will do
        angles: Array = Rotation.from_matrix(rotation).as_euler("xyz")
    return angles
