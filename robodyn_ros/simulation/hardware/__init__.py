"""The simulated hardware: a plant with its drives and sensors."""
