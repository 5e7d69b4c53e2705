# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The contract of ``robodyn_ros.dynamics.base`` as tests that any plugin can be put through, by its entry-point name::

    pytest --pyargs robodyn_ros.dynamics.conformance --dynamics mine

Without ``--dynamics`` every installed plugin is tested; it may be given several times. A plugin for one arm only names
its URDF by ``--arm``; clauses about arms of the kit are left out then. Each test is one clause; its
docstring says what the clause asks for. ``test_equations`` has the clauses about the equations, ``test_parameters``
those about the runtime parameters, ``test_states`` those about what a call takes and gives. Nothing here depends on a
plugin: expected values come from ``subject.Definition``, which works out the energies of the bodies and nothing else.
The kit needs pytest and the requirements of robodyn_ros itself.
"""
