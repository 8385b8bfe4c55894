"""Agreement of the physicians with each other, and the distance of a run from it."""
