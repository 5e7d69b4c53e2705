"""Signal processing: from recordings to samples, filtered, differentiated and aligned in time."""
