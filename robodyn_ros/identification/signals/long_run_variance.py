# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The long-run variance of errors in time: the variance of their mean, times their number.

Errors of neighbouring samples are correlated, because they went through a filter. Their effect on an estimate depends
on their spectral density at low frequency, where the motion is. This density is the long-run variance (Newey and West,
A simple, positive semi-definite, heteroskedasticity and autocorrelation consistent covariance matrix, Econometrica
55(3), 1987).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array


def long_run_ratio(errors: Array) -> Array:
    """Long-run variance of each joint's errors (N, n) over their variance, (n,): 1 if they are independent.

    It has Bartlett's weights and as many lags as Newey and West, Automatic lag selection in covariance matrix
    estimation, Review of Economic Studies 61(4), 1994. It is never below 1: alternating errors come from encoders,
    through the acceleration. They are in the regressor too, where their effect is greater than this variance shows.
    """
    lags = min(int(4.0 * (len(errors) / 100.0) ** (2.0 / 9.0)), len(errors) - 1)
    together = sum(
        (1.0 - lag / (lags + 1.0)) * np.sum(errors[lag:] * errors[:-lag], axis=0) for lag in range(1, lags + 1)
    )
    power = np.sum(errors**2, axis=0)
    found: Array = np.maximum(1.0 + 2.0 * together / np.where(power > 0.0, power, 1.0), 1.0)
    return found
