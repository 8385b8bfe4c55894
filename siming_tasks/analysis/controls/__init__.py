"""Controls of the agreement: contribution of the video, no-video baselines, input ablations, minimal pairs."""
