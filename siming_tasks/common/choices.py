"""Words that options of a run and the benchmark share, each stated here alone; the benchmark's own comes first."""

from __future__ import annotations

from typing import Literal

PromptStyle = Literal["plain", "reasoned"]
"""The model answers at once, or reasons first."""
AskUnit = Literal["all", "skill", "step"]
"""What one request about a full video asks about."""
SchemaUse = Literal["off", "json"]
"""A service is given the JSON schema of the reply, or not."""
LabelMapping = Literal["absolute", "proportional", "proportional-3/4"]
"""Reading of equation 3: how points become the labels of kappa."""
