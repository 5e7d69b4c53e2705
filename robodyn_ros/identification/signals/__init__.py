"""From recordings to samples: filtered, differentiated, and brought in time."""
