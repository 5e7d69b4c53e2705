"""The control laws: the plugins of the group ``robodyn_ros.controllers``."""
