# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages of blocks (:mod:`~robodyn_ros.document.blocks`), and the formats that they are written in.

Every report of this package is such a page. ``text`` is for a terminal; ``markdown``, ``html`` and ``latex`` are files.
Formulas are LaTeX.
"""
