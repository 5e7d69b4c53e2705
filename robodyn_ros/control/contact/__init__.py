"""What touches the arm: it is observed by the momentum of the joints, and judged by thresholds."""
