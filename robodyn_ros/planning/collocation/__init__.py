"""Direct collocation: the best motion as a nonlinear program."""
