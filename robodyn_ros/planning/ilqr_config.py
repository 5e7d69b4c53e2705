"""Settings of iLQR, with the values of its source."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, setting, whole


@dataclass(frozen=True)
class ILQRConfig:
    """Settings; each field's metadata say what it is.

    Source: Tassa, Erez, Todorov (2012), sections II-D and II-F; the values are those of the authors' published code.
    """

    iterations: int = whole(500, "greatest number of iterations", 1, 100_000)
    cost_tolerance: float = setting(
        1e-7, "solved when an iteration gains less than this share of the cost", "-", 0.0, 1.0
    )
    gradient_tolerance: float = setting(
        1e-7, "solved when no effort would change by more than this share of itself (or this)", "-", 0.0, 1.0
    )
    least_reduction: float = setting(1e-4, "least share of the expected gain for a step to count", "-", 0.0, 1.0)
    mu_least: float = setting(1e-6, "least regularisation that is not 0", "-", 0.0, 1.0)
    mu_greatest: float = setting(1e10, "regularisation at which the search is given up", "-", 1.0, 1e300)
    mu_factor: float = setting(1.6, "how quickly the regularisation changes", "-", 1.0, 100.0)

    def __post_init__(self) -> None:
        check_settings(self)
