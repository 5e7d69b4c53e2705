"""Many trials of one study: an arm, controllers and a motion, and what varies from case to case."""
