"""Page that searches all replies: the browser reads the data files of the exams one after another and keeps none."""

from __future__ import annotations

import json

from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.report.viewer_files import without_replies
from siming_tasks.tasks import TASKS


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``search.html``."""
    analyses, ids = contents.analyses, [video.video_id for video in contents.dataset.videos]
    without = {run.source.slug: without_replies(contents.out, run.source.slug, ids) for run in analyses}
    contents.site.page(
        "search.html",
        "search.html",
        videos=json.dumps(ids),
        without=json.dumps({slug: missing for slug, missing in without.items() if missing}),
        settings={name: TASKS[name].title for name in TASKS if any(name in run.matrices for run in analyses)},
        runs={run.source.slug: run.source.name for run in analyses},
        unread={run.source.slug: len(run.unread) for run in analyses if run.unread},
    )


PAGE = Page(_write, "Search", "search.html")
