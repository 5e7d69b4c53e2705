# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signal processing: from recordings to samples, filtered, differentiated and aligned in time."""
