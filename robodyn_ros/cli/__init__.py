# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``robodyn``: one file a verb, named after the verb."""
