"""Runs: what they are made of, how they are read, compared and scored."""
