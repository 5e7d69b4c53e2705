"""References: a hold, a trajectory or a stream, and the tolerances that a trajectory is judged by."""
