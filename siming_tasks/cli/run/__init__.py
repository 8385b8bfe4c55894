"""Commands that prepare, divide and exchange the runs of models."""
