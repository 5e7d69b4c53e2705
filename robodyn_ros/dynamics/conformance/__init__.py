"""The contract of ``robodyn_ros.dynamics.base`` as tests that any plugin can be put through, by its entry-point name::

    pytest --pyargs robodyn_ros.dynamics.conformance --dynamics mine

Without ``--dynamics`` every installed plugin is tested; it may be given several times. Each test is one clause; its
docstring says what the clause asks for. Nothing here depends on a plugin: what is right comes from ``definition``,
which works out the energies of the bodies and nothing else. It needs pytest and what robodyn_ros itself needs.
"""
