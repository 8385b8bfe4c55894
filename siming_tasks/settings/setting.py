"""The settings: what a model is shown and what it must answer."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.schema import Answer, Scope

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True)
class Setting:
    """One of the paper's four settings: what the model sees (``scope``) and what it must answer (``answer``)."""

    scope: Scope
    answer: Answer

    @property
    def name(self) -> str:
        """``full_score``, ``full_error``, ``clip_score`` or ``clip_error``."""
        return f"{self.scope}_{self.answer}"


_FOUR = (Setting("full", "score"), Setting("full", "error"), Setting("clip", "score"), Setting("clip", "error"))
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _FOUR}
"""The four settings by name."""
