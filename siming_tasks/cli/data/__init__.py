"""Commands that make, check and publish a data set."""
