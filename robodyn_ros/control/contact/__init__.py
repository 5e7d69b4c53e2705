# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What touches the arm: it is observed by the momentum of the joints, and judged by thresholds."""
