# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's answers in the order of a Robot's joints: the second independent truth of the dynamics tests.

Where MuJoCo's importer has rules of its own, which change the arm, they are neutralised here, one by one.
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from robodyn_ros.robot import Robot

KEPT = {"link": {"inertial"}, "joint": {"origin", "parent", "child", "axis", "limit"}}
"""What the dynamics depend on. Meshes are not there to be read, and MuJoCo makes equality constraints of <mimic> and
passive forces of <dynamics>, which are not part of inverse dynamics here."""

POSSIBLE = (1.0, 1.1, 1.2, 0.1, 0.2, 0.3)
"""MuJoCo refuses moving bodies without mass or inertia, and moments that break the triangle inequality by a rounding
(or changes them: boundmass, boundinertia, balanceinertia). Such a body gets 1 kg and these moments [kg m²] to be
compiled with, and its real ones afterwards. The products are not zero: MuJoCo would not look at the axes otherwise."""


class MuJoCo:
    """Every movable joint free; mimic joints are then put in their place by q_full = G q + offset."""

    def __init__(self, robot: Robot, gravity: tuple[float, float, float]) -> None:
        spec = mujoco.MjSpec.from_string(_reduced(robot.urdf))
        spec.compiler.fusestatic = False  # it would merge links that are fixed to each other, and drop their names
        real = [_made_possible(body) for body in spec.bodies]
        self.model = spec.compile()
        for name, mass, inertia, iquat in filter(None, real):
            index = self.model.body(name).id
            moments, axes = np.linalg.eigh(inertia)
            axes[:, 0] *= np.linalg.det(axes)
            self.model.body_mass[index], self.model.body_inertia[index] = mass, moments
            mujoco.mju_mat2Quat(self.model.body_iquat[index], _times(iquat, axes).ravel())
        self.model.opt.gravity[:] = gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # contacts, limits, equalities
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        assert not self.model.dof_armature.any()
        assert not self.model.dof_damping.any()
        assert not self.model.dof_frictionloss.any()
        self.data = mujoco.MjData(self.model)
        self.lead = np.zeros((self.model.nv, robot.n))
        self.offset = np.zeros(self.model.nv)
        self.fixed = [link.name for link in robot.links if link.body < 0]
        for body in robot.bodies:  # in an order of its own
            index = self.model.joint(body.joint.name).dofadr[0]
            self.lead[index, body.coordinate] = body.ratio
            self.offset[index] = body.offset

    def inverse(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        self._put(q, qd)
        self.data.qacc[:] = self.lead @ qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.lead.T @ self.data.qfrc_inverse

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self._put(q, 0 * q)
        mujoco.mj_forward(self.model, self.data)
        product = np.zeros(self.model.nv)
        columns = []
        for column in self.lead.T:
            mujoco.mj_mulM(self.model, self.data, product, column)
            columns.append(self.lead.T @ product)
        return np.column_stack(columns)

    def forward(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        if self.lead.shape[0] != self.lead.shape[1]:
            return np.linalg.solve(self.mass_matrix(q), tau - self.inverse(q, qd, np.zeros_like(q)))
        self._put(q, qd)
        self.data.qfrc_applied[:] = self.lead @ tau
        mujoco.mj_forward(self.model, self.data)
        return self.lead.T @ self.data.qacc

    def energy(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        self._put(q, qd)
        mujoco.mj_forward(self.model, self.data)
        potential, kinetic = self.data.energy
        # MuJoCo counts what is fixed to the ground, unless it is the root link itself, which is the world to it.
        for name in set(self.fixed) - {"world"}:
            index = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
            if index > 0:
                potential += self.model.body_mass[index] * self.model.opt.gravity @ self.data.xipos[index]
        return kinetic, potential

    def _put(self, q: np.ndarray, qd: np.ndarray) -> None:
        """A state; every joint, a continuous one too, has one coordinate in MuJoCo."""
        self.data.qpos[:], self.data.qvel[:] = self.lead @ q + self.offset, self.lead @ qd
        self.data.qfrc_applied[:] = 0


def _reduced(urdf: str) -> str:
    """A URDF of links with inertials and joints alone."""
    root = ET.fromstring(urdf)
    for element in list(root):
        if element.tag not in KEPT:
            root.remove(element)
        for child in list(element):
            if child.tag not in KEPT.get(element.tag, ()):
                element.remove(child)
    return ET.tostring(root, encoding="unicode")


def _made_possible(body: mujoco.MjsBody) -> tuple[str, float, np.ndarray, np.ndarray] | None:
    """Give a body that MuJoCo would refuse a possible mass and inertia: its name, and the real mass, inertia (3, 3) and
    the quaternion of its axes, or None. The importer has put a URDF's moments into ``fullinertia``.
    """
    xx, yy, zz, xy, xz, yz = np.nan_to_num(body.fullinertia) if body.explicitinertial else np.zeros(6)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments = np.linalg.eigvalsh(inertia)
    fits = body.mass > 0.0 and moments[0] > 0.0 and moments[0] + moments[1] >= moments[2]
    if body.name == "world" or fits:
        return None
    real = body.name, float(body.mass), inertia, body.iquat.copy()
    body.mass, body.explicitinertial, body.fullinertia = 1.0, True, POSSIBLE
    return real


def _times(quaternion: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """A rotation matrix (3, 3): first the axes, then the quaternion."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion) / np.linalg.norm(quaternion))
    return matrix.reshape(3, 3) @ axes
