# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The way between joints and motors, by hand and there and back."""

import numpy as np
import pytest

from robodyn_ros.control.drives import Transmission, TransmissionSettings
from robodyn_ros.errors import ConfigurationError

# An elevator with 250 rad of the motor a metre, a reversed shoulder with a gear of 40 and a drive in amperes, a wrist
# with a motor of its own unit.
ARM = Transmission(
    [
        TransmissionSettings(gear_ratio=250.0, offset=0.1),
        TransmissionSettings(gear_ratio=-40.0, offset=-0.3, torque_constant=0.05),
        TransmissionSettings(),
    ]
)


def test_by_hand():
    np.testing.assert_allclose(ARM.joint_position(np.array([100.0, 20.0, 0.7])), [0.5, -0.8, 0.7], rtol=1e-15)
    np.testing.assert_allclose(ARM.joint_velocity(np.array([50.0, 8.0, -0.2])), [0.2, -0.2, -0.2], rtol=1e-15)
    one = Transmission([TransmissionSettings(gear_ratio=2.0, torque_constant=0.5)])
    assert one.joint_position(np.ones(1)) == one.joint_velocity(np.ones(1)) == 0.5
    # 500 N of the elevator are 2 N·m of its motor; 96 N·m of the shoulder are -2.4 N·m, -48 A.
    np.testing.assert_allclose(ARM.motor_effort(np.array([500.0, 96.0, 36.0])), [2.0, -48.0, 36.0], rtol=1e-15)


def test_there_and_back():
    q, qd, tau = np.random.default_rng(2).uniform(-3.0, 3.0, (3, 3))
    np.testing.assert_allclose(ARM.joint_position((q - ARM.offset) * ARM.ratio), q, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(ARM.joint_velocity(qd * ARM.ratio), qd, rtol=1e-15)
    np.testing.assert_allclose(ARM.joint_effort(ARM.motor_effort(tau)), tau, rtol=1e-15)


@pytest.mark.parametrize(
    "wrong", [{"gear_ratio": 0.0}, {"gear_ratio": -1e-7}, {"offset": np.nan}, {"torque_constant": 0.0}]
)
def test_what_cannot_be_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=name):
        TransmissionSettings(**wrong)
