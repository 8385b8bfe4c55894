"""Power: number of videos that a comparison needs, by simulation."""
