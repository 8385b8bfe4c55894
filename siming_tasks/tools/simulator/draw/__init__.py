"""The picture of a simulated exam: what a state looks like."""
