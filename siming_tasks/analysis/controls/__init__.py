"""What the video contributed to the agreement: splits, no-video baselines, counterfactual pairs."""
