"""What to ask of the arm: the best motions that its own dynamics allow."""
