"""Where the packages of this ROS 2 installation lie."""

from __future__ import annotations

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from robodyn_ros.view.shapes import ros_package_path


def share_folder(package: str) -> str | None:
    """The share folder of a package, by the ament index, else by ``ROS_PACKAGE_PATH``; None if it is in neither."""
    try:
        folder: str = get_package_share_directory(package)
    except (PackageNotFoundError, ValueError):
        return ros_package_path(package)
    return folder
