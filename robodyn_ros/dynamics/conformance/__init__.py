# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The contract of ``robodyn_ros.dynamics.base`` as tests for any plugin, by its entry-point name::

    pytest --pyargs robodyn_ros.dynamics.conformance --dynamics mine

Without ``--dynamics`` every installed plugin is tested; it may be given several times. A plugin for one arm only names
its URDF by ``--arm``; clauses about arms of the kit are left out then. Each test is one clause; its docstring states
it. ``test_equations`` has the clauses about the equations, ``test_calls`` those about the runtime parameters and about
the arguments and results of a call. Nothing here depends on a plugin: expected values come from ``subject.Definition``,
which computes them from the energies of the bodies alone.
The kit needs pytest and the requirements of robodyn_ros itself.
"""
