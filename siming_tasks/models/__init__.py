"""Models that ship with the suite, and recipes for running the models of others."""
