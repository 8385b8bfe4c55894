"""Page of the replies that were put aside: status, steps, reasons, and the text with the deciding words marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from siming_tasks.common.sanitize import visible
from siming_tasks.report.pages.site import Page, ReportContents, answer_address
from siming_tasks.results.set_aside import SetAsideReply, spans_of
from siming_tasks.tasks import TASKS

MAX_SHOWN = 1_000
"""Different replies on a page; the others are counted."""


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``replies/<slug>.html`` for every ``shares``-th run that has some, beginning with the ``share``-th."""
    for run in contents.analyses[share::shares]:
        if not run.set_aside:
            continue
        alike: dict[tuple[str, str, str], list[SetAsideReply]] = {}
        for reply in run.set_aside:
            alike.setdefault((reply.setting, reply.status, reply.reply), []).append(reply)
        groups = list(alike.values())
        shown: dict[str, list[dict[str, Any]]] = {}
        for replies in groups[:MAX_SHOWN]:
            shown.setdefault(replies[0].setting, []).append(_entry(replies, run.source.slug))
        contents.site.page(
            f"replies/{run.source.slug}.html",
            "replies.html",
            run={"name": run.source.name, "slug": run.source.slug},
            count=len(run.set_aside),
            replies=run.replies,
            parts=[(TASKS[name].title, name, entries) for name, entries in shown.items()],
            left_out=len(groups) - min(len(groups), MAX_SHOWN),
        )


def _entry(replies: Sequence[SetAsideReply], slug: str) -> dict[str, Any]:
    """One text, with all requests that it answers in the same way."""
    first = replies[0]
    return {
        "status": first.status,
        "requests": [
            {
                "id": reply.id,
                "steps": list(reply.missing.items()),
                "asked": reply.asked,
                "href": f"../{answer_address(reply.setting, reply.video_id, slug)}",
            }
            for reply in replies
        ],
        "decided": bool(first.deciding),
        "text": marked(first.reply, first.deciding),
    }


def marked(text: str, passages: Sequence[str]) -> Markup:
    """A reply for a page, escaped, with its deciding passages in ``<mark>``; those that it does not hold follow it.

    Example:
        >>> marked("1 <b>, no: 2", ["no: 2"])
        Markup('1 &lt;b&gt;, <mark>no: 2</mark>')
    """
    pieces, done = Markup(), 0
    for start, end in spans_of(text, passages):
        pieces += escape(visible(text[done:start])) + _mark(text[start:end])
        done = end
    pieces += escape(visible(text[done:]))
    elsewhere = [passage for passage in passages if passage not in text]
    return pieces + Markup().join(Markup("\n") + _mark(passage) for passage in elsewhere)


def _mark(text: str) -> Markup:
    return Markup("<mark>{}</mark>").format(visible(text))


PAGE = Page(_write, shared=True)
