"""Error quotes: what judges write about steps that they judge wrong, sampled while replies are read, then clustered."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.results.record import Record
from siming_tasks.tasks import TASKS

MAX_QUOTES = 300
"""Quotes that are kept of a run in a setting."""
MAX_CHARACTERS = 400
"""Characters of a quote."""
MAX_READ = 60_000
"""Characters of a reply that are searched."""
MAX_CLUSTERED = 1_000
"""Quotes that are clustered; more of them say the same."""
MIN_QUOTES, MAX_CLUSTERS, EXAMPLES, TERMS = 8, 8, 3, 4
SEED = 0
DENIALS = {"no", "not", "nobody", "none", "never", "nothing", "without", "cannot"}
"""Words that say what went wrong, although they are on every list of idle ones."""

_JSON = re.compile(r"```.*?(?:```|\Z)|\{[^{}]*\}|[{}\[\]]", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]?")
_TOKEN = re.compile(r"\bno\b|[a-zäöüßéèàñç]{3,}|[\u4e00-\u9fff]{2}")


@dataclass(frozen=True, order=True)
class ErrorQuote:
    """Words about one step of one exam that was judged wrong (``kind``: ``miss`` or ``alarm``), on one line.

    ``order`` decides which are kept; it is the same for the same request, whatever else there is.
    """

    order: str
    video: str
    step: str
    kind: str
    text: str


RunQuote = tuple[str, str, ErrorQuote]
"""Slug and name of the run, and the quote."""


class ErrorQuoteSampler:
    """A bounded, repeatable sample of what a run writes about its misses and false alarms, by this rater's points."""

    def __init__(self, dataset: Dataset, rater: str) -> None:
        self.dataset, self.rater = dataset, rater
        self._kept: dict[str, list[tuple[int, ErrorQuote]]] = {}
        names = {step.id: f"{re.escape(step.id)}|{re.escape(step.name)}" for step in dataset.rubric.steps}
        self._names = {
            id: re.compile(rf"(?<![A-Za-z0-9_])(?:{name})(?![A-Za-z0-9])", re.I) for id, name in names.items()
        }

    def put(self, record: Record, reply: str | None) -> None:
        """Look at one reply; a record that comes again, because its first request failed, is looked at again."""
        if not reply or not record.answers or record.video_id not in self.dataset.by_id:
            return
        score = TASKS[record.setting].answer == "score"
        video, text = self.dataset.video(record.video_id), None
        for step_id, value in record.answers.items():
            reference = video.step(step_id).scores.get(self.rater)
            top = self.dataset.rubric.by_id[step_id].max_score
            if reference is None or (called := value < top if score else bool(value)) == (reference < top):
                continue
            order = blake2b(f"{record.id} {step_id}".encode(), digest_size=8).hexdigest()
            kept = self._kept.setdefault(record.setting, [])
            full = len(kept) >= MAX_QUOTES
            # the heap's first has the largest order: what comes after it would leave at once
            if (full and -kept[0][0] <= int(order, 16)) or any(order == quote.order for _, quote in kept):
                continue
            text = _JSON.sub(" ", reply[:MAX_READ]) if text is None else text
            if quoted := sentences_about(text, None if record.step_id else self._names[step_id]):
                quote = ErrorQuote(order, video.video_id, step_id, "alarm" if called else "miss", quoted)
                (heapq.heappushpop if full else heapq.heappush)(kept, (-int(order, 16), quote))

    def by_setting(self) -> dict[str, list[ErrorQuote]]:
        """The quotes of each setting, in an order that does not depend on that of the log."""
        return {name: sorted(quote for _, quote in kept) for name, kept in self._kept.items()}


def sentences_about(text: str, name: re.Pattern[str] | None) -> str:
    """The sentences about a step, or the last ones of a reply about one step alone; empty if there are no words.

    Args:
        text: a reply without its JSON.
        name: finds the step's name in it; None: the whole reply is about it.

    Example:
        >>> sentences_about("cpr_01: Looks safe. cpr_02: The elbows are bent.", re.compile("cpr_02"))
        'The elbows are bent.'
    """
    sentences = _SENTENCE.findall(text)
    if name is not None:
        sentences = [name.sub("", sentence) for sentence in sentences if name.search(sentence)]
    words = " ".join(" ".join(sentence.split()).strip(" :-*#`\"',") for sentence in sentences)
    words = visible(str(redact(" ".join(words.split()))))
    if len(re.findall(r"[^\W\d_]{2,}", words)) < 3 and not re.search(r"[\u4e00-\u9fff]{6}", words):
        return ""
    return words if len(words) <= MAX_CHARACTERS else f"…{words[-MAX_CHARACTERS:]}"


def cluster_quotes(quotes: Sequence[RunQuote]) -> list[dict[str, Any]]:
    """Groups of like quotes, the largest first: k-means of their tf-idf words, as many groups as fit best.

    Args:
        quotes: of any number of runs, in any order.

    Returns:
        ``count``, ``share`` of all, ``terms`` (words that stand out), ``kinds`` and ``runs`` (how often each),
        ``examples`` (three, nearest to the middle, of different exams where there are). Empty for fewer than
        eight quotes.
    """
    chosen = sorted(quotes, key=lambda item: (item[2].order, item[0]))[:MAX_CLUSTERED]
    if len(chosen) < MIN_QUOTES:
        return []
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    idle = ENGLISH_STOP_WORDS - DENIALS

    def tokens(text: str) -> list[str]:
        return [word for word in _TOKEN.findall(text.lower()) if word not in idle]

    words = TfidfVectorizer(analyzer=tokens, sublinear_tf=True, min_df=2, max_df=0.9)
    try:
        table = words.fit_transform([item[2].text for item in chosen])
    except ValueError:  # no word is said twice, or all say the same
        return [_cluster(chosen, np.arange(len(chosen)), np.zeros(len(chosen)), [])]
    model = _fit_clusters(table)
    names, distance, clusters = words.get_feature_names_out(), model.transform(table), []
    for label, centre in enumerate(model.cluster_centers_):
        rows = np.flatnonzero(model.labels_ == label)
        if len(rows):
            terms = [str(names[k]) for k in np.argsort(-centre)[:TERMS] if centre[k] > 0]
            clusters.append(_cluster(chosen, rows, distance[rows, label], terms))
    return sorted(clusters, key=lambda cluster: -cluster["count"])


def _fit_clusters(table: Any) -> Any:
    """The k-means model with the number of groups that has the best silhouette."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    distinct = len({row.tobytes() for row in table.toarray()})
    best: tuple[float, Any] | None = None
    for k in range(2, min(MAX_CLUSTERS, distinct - 1) + 1):
        model = KMeans(k, n_init=2, random_state=SEED).fit(table)
        if len(set(model.labels_)) < 2:
            continue
        fit = silhouette_score(table, model.labels_, sample_size=min(500, table.shape[0]), random_state=SEED)
        if best is None or fit > best[0] + 0.01:
            best = (fit, model)
    return best[1] if best else KMeans(1, n_init=1, random_state=SEED).fit(table)


def _cluster(chosen: Sequence[RunQuote], rows: Any, distance: Any, terms: list[str]) -> dict[str, Any]:
    nearest = [chosen[row] for row in rows[np.argsort(distance, kind="stable")]]
    examples: list[RunQuote] = []
    for other in (("video", "text"), ("video",), ("text",), ()):  # of other exams, in other words, if there are
        for item in nearest:
            differs = [getattr(item[2], name) != getattr(known[2], name) for known in examples for name in other]
            if item not in examples and all(differs):
                examples.append(item)
    return {
        "count": len(rows),
        "share": len(rows) / len(chosen),
        "terms": terms,
        "kinds": Counter(chosen[row][2].kind for row in rows),
        "runs": Counter(chosen[row][1] for row in rows).most_common(),
        "examples": [{"slug": slug, "run": name, **vars(quote)} for slug, name, quote in examples[:EXAMPLES]],
    }
