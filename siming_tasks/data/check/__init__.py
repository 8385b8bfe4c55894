"""Everything that can be wrong with a dataset folder."""
