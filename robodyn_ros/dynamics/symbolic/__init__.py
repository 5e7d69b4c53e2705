# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of small arms as people write them, with symbols for masses and lengths; it needs SymPy."""
