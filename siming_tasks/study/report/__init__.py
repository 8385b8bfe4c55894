"""Results and sample logs as pages people can look at, as Markdown and as JSON; submissions and boards."""
