"""What can go wrong with states, models and laws, and what the loop does then."""
