"""What the video contributed to the agreement: splits, blind judges, counterfactual pairs."""
