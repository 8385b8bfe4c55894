"""Everything that knows how lmms-eval is put together."""
