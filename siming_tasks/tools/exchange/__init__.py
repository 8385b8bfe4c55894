"""Doors to other harnesses and formats: requests out, replies and predictions in, results out, data sets out."""
