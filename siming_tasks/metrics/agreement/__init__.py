"""Agreement of two judges from counts and totals: kappa, correlation, verdicts."""
