"""The planner node: the best motion from where the arm is to where it is asked to be."""
