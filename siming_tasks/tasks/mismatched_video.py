"""The other exam that a mismatched-video ablation shows in place of an exam's own: a fixed rule over the data set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Video

__all__ = ["MismatchedVideo", "MismatchedVideos"]

MismatchedVideo = tuple[Video, tuple[float, float] | None]
"""Another exam, and the part of it that is shown (seconds); None: all of it."""


class MismatchedVideos:
    """By video, another one: the next of the same site, round about; a site's only video takes the next of all.

    Passed over are videos without the step's clip, exams of the same ``student``, and counterfactual minimal pairs,
    which are nearly the same recording. Where that leaves none, first students, then the step itself do not count: then
    the next exam's part at the same share of its length is shown.

    Args:
        videos: of the data set.
        minimal_pairs: pairs of video ids.
    """

    def __init__(self, videos: Sequence[Video], minimal_pairs: Collection[frozenset[str]] = ()) -> None:
        self._minimal_pairs = frozenset(minimal_pairs)
        self._all = _Circle(videos)
        sites = {video.site for video in videos if video.site is not None}
        self._sites = {site: _Circle([video for video in videos if video.site == site]) for site in sites}

    def of(self, video: Video, step: str | None = None) -> MismatchedVideo:
        """The exam that stands in for a video: the clip of the same step, or without a step the whole exam.

        Raises:
            DataError: there is no other exam.
        """

        def has_step(other: Video) -> bool:
            return step is None or step in other.timed_ids

        def is_unrelated(other: Video) -> bool:
            student = video.extra.get("student")
            return has_step(other) and (student is None or other.extra.get("student") != student)

        site = self._sites.get(video.site, self._all) if video.site is not None else self._all
        rules: tuple[tuple[_Circle, Callable[[Video], bool]], ...] = (
            (site, is_unrelated),
            (self._all, is_unrelated),
            (self._all, has_step),
            (self._all, lambda _: True),
        )
        for circle, fits in rules:
            for other in circle.after(video):
                if fits(other) and frozenset((video.video_id, other.video_id)) not in self._minimal_pairs:
                    return other, _shown_part(video, other, step)
        raise DataError(
            f"{video.video_id}: the ablation `mismatched_video` shows another exam, and there is none. "
            "Leave its tasks out, or use a data set of several exams."
        )


class _Circle:
    """Videos in their order, the first after the last."""

    def __init__(self, videos: Sequence[Video]) -> None:
        self._videos = videos
        self._place = {video.video_id: place for place, video in enumerate(videos)}

    def after(self, video: Video) -> Iterator[Video]:
        """The others, beginning with the next."""
        place, number = self._place[video.video_id], len(self._videos)
        return (self._videos[(place + k) % number] for k in range(1, number))


def _shown_part(video: Video, other: Video, step: str | None) -> tuple[float, float] | None:
    if step is None:
        return None
    if step in other.timed_ids:
        return other.step(step).span
    start, end = video.step(step).span or (0.0, video.duration)
    return start * other.duration / video.duration, end * other.duration / video.duration
