"""Pages that are served to this machine alone: access key, server, viewer of a report, videos that browsers play."""
