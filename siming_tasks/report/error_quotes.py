"""Error quotes: what judges write about steps that they judge wrong, a bounded sample, and groups of like words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.results.record import Record
from siming_tasks.tasks import TASKS

MAX_QUOTES, MAX_READ, MAX_CHARACTERS = 300, 60_000, 400
MIN_QUOTES, GROUPS, TERMS = 8, 6, 4
"""Of a run in a setting: quotes, characters of a reply, of a quote; quotes at least, groups at most, words for one."""

_JSON = re.compile(r"```.*?(?:```|\Z)|\{[^{}]*\}|[{}\[\]]", re.DOTALL)


class ErrorQuote(NamedTuple):
    """Words about one step of one exam that was judged wrong, on one line."""

    order: str  # decides which quotes are kept; it is the same for the same request, whatever else there is
    video: str
    step: str
    is_miss: bool  # called fully correct without being so; else a false alarm
    text: str


class ErrorQuoteSampler:
    """A bounded, repeatable sample of what a run writes about its misses and false alarms, by this rater's points."""

    def __init__(self, dataset: Dataset, rater: str) -> None:
        self.dataset, self.rater = dataset, rater
        self.kept: dict[str, dict[str, ErrorQuote]] = {}  # by setting and order

    def put(self, record: Record, reply: str | None) -> None:
        """Look at one reply; a record that comes again, because its first request failed, is looked at again."""
        if not reply or record.video_id not in self.dataset.by_id:
            return
        text, kept = _JSON.sub(" ", reply[:MAX_READ]), self.kept.setdefault(record.setting, {})
        for step_id, value in record.answers.items():
            step = self.dataset.rubric.by_id[step_id]
            reference = self.dataset.video(record.video_id).step(step_id).scores.get(self.rater)
            called = value < step.max_score if TASKS[record.setting].answer == "score" else bool(value)
            order = blake2b(f"{record.id} {step_id}".encode(), digest_size=8).hexdigest()
            is_full = len(kept) >= MAX_QUOTES and order > max(kept)
            if is_full or reference is None or called == (reference < step.max_score):
                continue
            if quoted := sentences_about(text, () if record.step_id else (step_id, step.name)):
                kept[order] = ErrorQuote(order, record.video_id, step_id, not called, quoted)
            if len(kept) > MAX_QUOTES:
                del kept[max(kept)]


def sentences_about(text: str, names: Sequence[str]) -> str:
    """The sentences about a step that has these names (none: all sentences); empty if there are no words."""
    sentences = re.findall(r"[^.!?\n。！？]+[.!?。！？]?", text)
    if names:
        name = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))})(?![A-Za-z0-9])", re.IGNORECASE)
        sentences = [name.sub("", sentence) for sentence in sentences if name.search(sentence)]
    words = " ".join(" ".join(sentence.split()).strip(" :-*#`\"',") for sentence in sentences)
    words = visible(str(redact(" ".join(words.split()))))
    if len(re.findall(r"[^\W\d_]{2,}", words)) < 3 and not re.search(r"[\u4e00-\u9fff]{6}", words):
        return ""
    return words[-MAX_CHARACTERS:]


def group_quotes(quotes: Sequence[tuple[str, str, ErrorQuote]]) -> list[dict[str, Any]]:
    """Groups of like quotes (slug and name of the run, quote), the largest first: k-means of their tf-idf words.

    Each has ``terms`` (words that stand out), ``members`` and ``nearest``, the member in the middle. Empty for fewer
    than eight quotes, or where no word is said twice.
    """
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(
        token_pattern=r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2}", stop_words="english", min_df=2, max_df=0.9
    )
    chosen = sorted(quotes, key=lambda item: (item[2], item[0]))
    try:
        table = words.fit_transform([quote.text for _, _, quote in chosen]).toarray()
    except ValueError:  # none, no word is said twice, or all say the same
        return []
    if len(chosen) < MIN_QUOTES:
        return []
    model = KMeans(min(GROUPS, len(np.unique(table, axis=0))), n_init=2, random_state=0).fit(table)
    names, distances, groups = words.get_feature_names_out(), model.transform(table), []
    for label, centre in enumerate(model.cluster_centers_):
        rows = np.flatnonzero(model.labels_ == label)
        terms = [str(names[place]) for place in np.argsort(-centre)[:TERMS] if centre[place] > 0]
        members = [chosen[row] for row in rows]
        groups.append({"terms": terms, "members": members, "nearest": members[distances[rows, label].argmin()]})
    return sorted(groups, key=lambda group: -len(group["members"]))
