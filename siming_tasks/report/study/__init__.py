"""What a report says about runs, as plain JSON."""
