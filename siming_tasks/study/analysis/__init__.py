"""Comparison, controls, diagnosis, inter-rater agreement and power."""
