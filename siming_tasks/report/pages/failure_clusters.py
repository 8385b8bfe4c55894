"""Failure prototypes: what judges say when they are wrong, in groups of like sayings, with three examples each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from siming_tasks.report.study.error_quotes import Saying

__all__ = ["prototypes"]

FEW, MOST_GROUPS, EXAMPLES, TERMS = 8, 8, 3, 4
MOST = 1_000
"""Sayings that are sorted; more say the same."""
SEED = 0
DENIALS = {"no", "not", "nobody", "none", "never", "nothing", "without", "cannot"}
"""Words that say what went wrong, although they are on every list of idle ones."""

Said = tuple[str, str, Saying]
"""Slug and name of the run, and what it said."""

_TOKEN = re.compile(r"\bno\b|[a-zäöüßéèàñç]{3,}|[\u4e00-\u9fff]{2}")


def prototypes(said: Sequence[Said]) -> list[dict[str, Any]]:
    """Groups of like sayings, the largest first: k-means of their tf-idf words, as many groups as fit best.

    Args:
        said: of any number of runs, in any order.

    Returns:
        ``count``, ``share`` of all, ``terms`` (words that stand out), ``kinds`` and ``runs`` (how often each),
        ``examples`` (three, nearest to the middle, of different exams where there are). Empty for fewer than
        eight sayings.
    """
    chosen = sorted(said, key=lambda item: (item[2].order, item[0]))[:MOST]
    if len(chosen) < FEW:
        return []
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    idle = ENGLISH_STOP_WORDS - DENIALS
    words = TfidfVectorizer(
        analyzer=lambda text: [word for word in _tokens(text) if word not in idle],
        sublinear_tf=True,
        min_df=2,
        max_df=0.9,
    )
    try:
        table = words.fit_transform([item[2].text for item in chosen])
    except ValueError:  # no word is said twice, or all say the same
        return [_group(chosen, np.arange(len(chosen)), np.zeros(len(chosen)), [], len(chosen))]
    labels, distance, centres = _sorted(table)
    names = words.get_feature_names_out()
    groups = []
    for label in range(len(centres)):
        rows = np.flatnonzero(labels == label)
        if len(rows):
            terms = [str(names[k]) for k in np.argsort(-centres[label])[:TERMS] if centres[label][k] > 0]
            groups.append(_group(chosen, rows, distance[rows, label], terms, len(chosen)))
    return sorted(groups, key=lambda group: -group["count"])


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def _sorted(table: Any) -> tuple[Any, Any, Any]:
    """Labels, distances to the middles, and the middles, for the number of groups with the best silhouette."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    distinct = len({row.tobytes() for row in table.toarray()})
    best: tuple[float, Any] | None = None
    for k in range(2, min(MOST_GROUPS, distinct - 1) + 1):
        model = KMeans(k, n_init=2, random_state=SEED).fit(table)
        if len(set(model.labels_)) < 2:
            continue
        fit = silhouette_score(table, model.labels_, sample_size=min(500, table.shape[0]), random_state=SEED)
        if best is None or fit > best[0] + 0.01:
            best = (fit, model)
    model = best[1] if best else KMeans(1, n_init=1, random_state=SEED).fit(table)
    return model.labels_, model.transform(table), model.cluster_centers_


def _group(chosen: Sequence[Said], rows: Any, distance: Any, terms: list[str], total: int) -> dict[str, Any]:
    nearest = [chosen[row] for row in rows[np.argsort(distance, kind="stable")]]
    examples: list[Said] = []
    for other in ({"video", "text"}, {"video"}, {"text"}, set()):  # of other exams, in other words, if there are
        for item in nearest:
            if item not in examples and all(
                getattr(item[2], name) != getattr(one[2], name) for one in examples for name in other
            ):
                examples.append(item)
    return {
        "count": len(rows),
        "share": len(rows) / total,
        "terms": terms,
        "kinds": Counter(chosen[row][2].kind for row in rows),
        "runs": Counter(chosen[row][1] for row in rows).most_common(),
        "examples": [{"slug": slug, "run": name, **vars(saying)} for slug, name, saying in examples[:EXAMPLES]],
    }
