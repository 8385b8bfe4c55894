"""Checking the arithmetic of published tables."""
