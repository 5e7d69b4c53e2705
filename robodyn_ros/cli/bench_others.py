"""Pinocchio, MuJoCo and the Robotics Toolbox on the same work, where they are installed and read the arm."""

from __future__ import annotations

import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

Entrants = dict[str, tuple[str, dict[str, Any]]]
"""Quantity → a statement, and the names in it."""


def pinocchio_model(xml: str) -> Any:
    """Pinocchio's model of the arm, or None where it is not installed or does not read it."""
    try:
        import pinocchio

        return pinocchio.buildModelFromXML(xml)
    except (ImportError, ValueError, RuntimeError):
        return None


def pinocchio_calls(xml: str) -> Entrants:
    """Pinocchio (``pip install pin``)."""
    if (model := pinocchio_model(xml)) is None:
        return {}
    import pinocchio

    rng = np.random.default_rng(1)
    q = pinocchio.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    names = {"m": model, "d": model.createData(), "q": q}
    names |= dict(zip("vu", rng.uniform(-1.0, 1.0, (2, model.nv)), strict=True))
    statements = {
        "inverse": ("f(m, d, q, v, u)", pinocchio.rnea),
        "forward": ("f(m, d, q, v, u)", pinocchio.aba),
        "mass_matrix": ("f(m, d, q)", pinocchio.crba),
        "gravity": ("f(m, d, q)", pinocchio.computeGeneralizedGravity),
    }
    return {quantity: (call, names | {"f": function}) for quantity, (call, function) in statements.items()}


def mujoco_calls(xml: str) -> Entrants:
    """MuJoCo's inverse and forward dynamics, without contact (``pip install mujoco``)."""
    try:
        import mujoco

        model = mujoco.MjModel.from_xml_string(_without_meshes(xml))
    except (ImportError, ValueError):
        return {}
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    data.qpos[:] = data.qvel[:] = data.qacc[:] = 0.3
    functions = {"inverse": mujoco.mj_inverse, "forward": mujoco.mj_forward}
    return {name: ("f(m, d)", {"f": function, "m": model, "d": data}) for name, function in functions.items()}


def toolbox_calls(xml: str) -> Entrants:
    """Peter Corke's Robotics Toolbox for Python (``pip install roboticstoolbox-python``)."""
    try:
        from roboticstoolbox import Robot

        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            path = Path(folder, "arm.urdf")
            path.write_text(_without_meshes(xml))
            robot = Robot.URDF(str(path))
    except Exception:  # not there, or whatever its reader raises: then it does not take part
        return {}
    q = np.full(robot.n, 0.3)
    three, one = "f(q, q, q)", "f(q)"
    return {
        "inverse": (three, {"f": robot.rne, "q": q}),
        "forward": (three, {"f": robot.accel, "q": q}),
        "mass_matrix": (one, {"f": robot.inertia, "q": q}),
        "gravity": (one, {"f": robot.gravload, "q": q}),
    }


OTHERS = {"Pinocchio": pinocchio_calls, "MuJoCo": mujoco_calls, "Robotics Toolbox": toolbox_calls}
"""Name → what it can do of an arm's URDF."""


def _without_meshes(xml: str) -> str:
    return re.sub(r"<(visual|collision)\b[^>]*(?<!/)>.*?</\1>", "", xml, flags=re.DOTALL)
