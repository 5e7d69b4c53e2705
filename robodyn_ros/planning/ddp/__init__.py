"""Differential dynamic programming: iLQR with effort limits."""
