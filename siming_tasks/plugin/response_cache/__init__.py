"""Every reply is kept when it arrives, so that a run that was cut short asks only for what is missing."""
