"""Commands for studies of raters and metrics."""
