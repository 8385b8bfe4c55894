"""Why the agreement is what it is."""
