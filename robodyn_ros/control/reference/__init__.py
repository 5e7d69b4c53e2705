# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""References: a hold, a trajectory or a stream, and the tolerances of trajectories."""
