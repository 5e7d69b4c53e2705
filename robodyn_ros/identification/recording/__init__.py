"""Recordings of a moving arm, from rosbag2, MCAP and CSV."""
