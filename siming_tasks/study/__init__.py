"""Studies of finished runs: records on disk, comparisons and diagnoses, pages and tables."""
