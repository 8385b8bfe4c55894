"""Numbers as Markdown and terminal tables."""
