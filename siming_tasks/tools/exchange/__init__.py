"""Doors to other harnesses and places: requests out, replies in, a run's numbers out, data sets out."""
