"""Page of the replies that could not be read whole: status, steps with their reasons, and the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siming_tasks.common.sanitize import visible
from siming_tasks.report.pages.site import Page, ReportContents, answer_address
from siming_tasks.results.unread_replies import UnreadReply
from siming_tasks.tasks import TASKS

MAX_SHOWN = 1_000
"""Different replies on a page; the others are counted."""


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``replies/<slug>.html`` for every ``shares``-th run that has some, beginning with the ``share``-th."""
    for run in contents.analyses[share::shares]:
        if not run.unread:
            continue
        alike: dict[tuple[str, str, str], list[UnreadReply]] = {}
        for reply in run.unread:
            alike.setdefault((reply.setting, reply.status, reply.reply), []).append(reply)
        groups = list(alike.values())
        shown: dict[str, list[dict[str, Any]]] = {}
        for replies in groups[:MAX_SHOWN]:
            shown.setdefault(replies[0].setting, []).append(_entry(replies, run.source.slug))
        contents.site.page(
            f"replies/{run.source.slug}.html",
            "unread_replies.html",
            run={"name": run.source.name, "slug": run.source.slug},
            sentence=run.unread_note.sentence,
            remedies=run.unread_note.remedies(),
            parts=[(TASKS[name].title, name, entries) for name, entries in shown.items()],
            left_out=len(groups) - min(len(groups), MAX_SHOWN),
        )


def _entry(replies: Sequence[UnreadReply], slug: str) -> dict[str, Any]:
    """One text, with all requests that it answers in the same way."""
    return {
        "status": replies[0].status,
        "requests": [
            {
                "id": reply.id,
                "steps": list(reply.missing.items()),
                "asked": reply.asked,
                "href": f"../{answer_address(reply.setting, reply.video_id, slug)}",
            }
            for reply in replies
        ],
        "text": visible(replies[0].reply),
    }


PAGE = Page(_write, shared=True)
