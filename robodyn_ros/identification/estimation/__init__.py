"""From samples to the parameters of the arm."""
