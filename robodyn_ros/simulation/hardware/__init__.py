"""The hardware: the plant with its drives and sensors."""
