"""``python -m robodyn_ros.nodes.viewer``: runs the viewer node."""

import sys

from robodyn_ros.nodes.viewer.node import main

sys.exit(main())
