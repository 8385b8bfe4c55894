"""The documentation as a site: ``python -m sphinx -W docs OUT``. It needs no network, neither to build nor to read."""

import siming_tasks

project = "siming-tasks"
author = "The siming-tasks developers"
copyright = author
version = release = siming_tasks.__version__

extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "none"
nitpicky = True
smartquotes = False  # `--flag` outside of code keeps both of its dashes

html_theme = "furo"
html_title = f"siming-tasks {release}"
html_show_copyright = False
html_copy_source = False
