# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Direct collocation: the best motion as a nonlinear program."""
