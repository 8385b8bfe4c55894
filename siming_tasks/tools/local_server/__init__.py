"""Pages that are served to this machine alone: the door, the server, files that browsers play."""
