"""Comparison, controls, diagnosis, inter-rater agreement, psychometrics, selective prediction and power."""
