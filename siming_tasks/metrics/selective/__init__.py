"""Metrics of other answer formats: abstention, evidence, named errors."""
