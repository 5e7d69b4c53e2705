# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``python -m robodyn_ros.nodes.planner``: runs the planner node."""

import sys

from robodyn_ros.nodes.planner.node import main

sys.exit(main())
