"""The plant: the arm with its friction, stops and limits; the plugins of the group ``robodyn_ros.plants``."""
