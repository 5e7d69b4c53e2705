# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio's and MuJoCo's answers in the order of a Robot's joints: the independent truth of the dynamics tests."""

import re

import numpy as np
import pinocchio

from robodyn_ros.robot import Robot


class Pinocchio:
    """Every movable joint free; mimic joints are then put in their place by q_full = G q + offset."""

    def __init__(self, robot: Robot, gravity: tuple[float, float, float]) -> None:
        self.model = pinocchio.buildModelFromXML(re.sub(r"</?mimic\b[^>]*>", "", robot.urdf))
        self.data = self.model.createData()
        self.model.gravity.linear = np.array(gravity)
        self.lead = np.zeros((self.model.nv, robot.n))
        self.offset = np.zeros(self.model.nv)
        self.joints = [self.model.joints[self.model.getJointId(body.joint.name)] for body in robot.bodies]
        for joint, body in zip(self.joints, robot.bodies, strict=True):
            self.lead[joint.idx_v, body.coordinate] = body.ratio
            self.offset[joint.idx_v] = body.offset

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's configuration vector; a continuous joint has a cosine and a sine in it."""
        positions, full = self.lead @ q + self.offset, pinocchio.neutral(self.model)
        for joint in self.joints:
            angle = positions[joint.idx_v]
            full[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(angle), np.sin(angle)) if joint.nq == 2 else angle
        return full

    def inverse(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        full = pinocchio.rnea(self.model, self.data, self.configuration(q), self.lead @ qd, self.lead @ qdd)
        return self.lead.T @ full

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.triu(pinocchio.crba(self.model, self.data, self.configuration(q)))
        return self.lead.T @ (upper + np.triu(upper, 1).T) @ self.lead

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        full = pinocchio.computeCoriolisMatrix(self.model, self.data, self.configuration(q), self.lead @ qd)
        return self.lead.T @ full @ self.lead

    def pose(self, link: str, q: np.ndarray) -> np.ndarray:
        """Of a link in the root link's frame, (4, 4)."""
        pinocchio.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return np.array(self.data.oMf[self.model.getFrameId(link, pinocchio.FrameType.BODY)].homogeneous)

    def jacobian(self, link: str, q: np.ndarray) -> np.ndarray:
        """Of a link's origin, in the root link's axes, (6, n)."""
        return self.jacobians(link, q, 0 * q)[0]

    def jacobians(
        self, link: str, q: np.ndarray, qd: np.ndarray, axes: str = "LOCAL_WORLD_ALIGNED"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of a link, by one of Pinocchio's conventions: J, and its time derivative, (6, n)."""
        frame = self.model.getFrameId(link, pinocchio.FrameType.BODY), getattr(pinocchio.ReferenceFrame, axes)
        pinocchio.computeJointJacobiansTimeVariation(self.model, self.data, self.configuration(q), self.lead @ qd)
        pinocchio.updateFramePlacements(self.model, self.data)
        jacobian = pinocchio.getFrameJacobian(self.model, self.data, *frame)
        variation = pinocchio.getFrameJacobianTimeVariation(self.model, self.data, *frame)
        return jacobian.reshape(6, -1) @ self.lead, variation.reshape(6, -1) @ self.lead

    def forward(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        if (np.count_nonzero(self.lead, axis=1) == 1).all() and len(self.lead) == len(q):
            full = self.lead @ tau
            return self.lead.T @ pinocchio.aba(self.model, self.data, self.configuration(q), self.lead @ qd, full)
        return np.linalg.solve(self.mass_matrix(q), tau - self.inverse(q, qd, np.zeros_like(q)))

    def energy(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        full = self.configuration(q)
        kinetic = pinocchio.computeKineticEnergy(self.model, self.data, full, self.lead @ qd)
        return kinetic, pinocchio.computePotentialEnergy(self.model, self.data, full)
