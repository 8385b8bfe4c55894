"""What came out of runs: records on disk, comparisons and diagnoses, pages and tables."""
