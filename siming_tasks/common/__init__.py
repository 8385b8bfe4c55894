"""Errors, the data schema, file access, locks, what may be published, worker processes: for every other folder."""
