"""Runs over the same videos: paired differences, tests, ranks."""
