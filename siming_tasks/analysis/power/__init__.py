"""How many videos a question takes."""
