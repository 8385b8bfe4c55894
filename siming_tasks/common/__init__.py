"""Errors, the data schema, file access, locks, redaction and worker processes: used by every other folder."""
