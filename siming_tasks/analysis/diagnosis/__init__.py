"""Diagnosis of the agreement: steps, severity, use of the procedure's state, pass decisions, robustness."""
