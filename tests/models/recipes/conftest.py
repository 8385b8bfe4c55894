"""The fixtures that start lmms-eval."""

from __future__ import annotations

from tests.plugin.conftest import host, serve, warm

__all__ = ["host", "serve", "warm"]
