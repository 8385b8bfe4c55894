"""How far physicians agree, and how far a run is from that."""
