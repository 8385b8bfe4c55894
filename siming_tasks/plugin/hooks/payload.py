"""What requests weigh, found by really encoding some of them before a run begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siming_tasks.media import StoredImage
from siming_tasks.models.recipes import Weight
from siming_tasks.plugin.hooks.dataset_cache import Doc
from siming_tasks.plugin.hooks.messages import shown_view
from siming_tasks.plugin.hooks.run_context import RUN

__all__ = ["spread", "weight_of"]

SAMPLE = 3


def spread(docs: Sequence[Doc]) -> Iterable[Doc]:
    """A few documents of different parts of a data set."""
    places = {round(number * (len(docs) - 1) / max(1, SAMPLE - 1)) for number in range(SAMPLE)} if docs else set()
    return [docs[place] for place in sorted(places)]


def weight_of(doc: Doc, table: Mapping[str, Any] | None, *, jpeg: bool = False) -> Weight | None:
    """The images of a document as the model that is being asked gets them; None where it gets no images.

    Args:
        doc: the document.
        table: what its task file says for the model.
        jpeg: the model's class sends JPEG whatever the run's format.
    """
    found = shown_view(doc, table) if RUN.media_mode(table) == "frames" else None
    if found is None:
        return None
    images, _ = found.to_send(RUN.policy.encoding, decode=False)
    sizes = [len(image.as_jpeg() if jpeg else image.encoded()[1]) for image in images if isinstance(image, StoredImage)]
    side = max(max(image.size) for image in images)
    return Weight(len(images), sum(sizes), max(sizes, default=0), side)
