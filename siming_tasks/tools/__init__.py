"""Products of their own, each in one folder; none is needed to evaluate a model."""
