"""Which reference the arm follows: a hold, a trajectory, or a stream."""
