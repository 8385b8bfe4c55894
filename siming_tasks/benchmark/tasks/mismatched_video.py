"""The other exam that a mismatched-video ablation shows in place of an exam's own: a fixed rule over the data set."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import DataError

MismatchedVideo = tuple[Video, tuple[float, float] | None]
"""Another exam, and the part of it that is shown (seconds); None: all of it."""


class MismatchedVideos:
    """By video, another one: the next of the same site, round about; a site's only video takes the next of all.

    Passed over are videos without the step's clip, exams of the same ``student``, and counterfactual minimal pairs,
    which are nearly the same recording. Where that leaves none, first students, then the step itself do not count: then
    the next exam's part at the same share of its length is shown.
    """

    def __init__(self, videos: Sequence[Video], minimal_pairs: Collection[frozenset[str]] = ()) -> None:
        self._minimal_pairs = frozenset(minimal_pairs)
        self._videos: dict[str | None, list[Video]] = {None: list(videos)}
        for video in videos:
            if video.site is not None:
                self._videos.setdefault(video.site, []).append(video)
        self._places = {
            site: {video.video_id: at for at, video in enumerate(members)} for site, members in self._videos.items()
        }

    def of(self, video: Video, step: str | None = None) -> MismatchedVideo:
        """The exam that stands in for a video: the clip of the same step, or without a step the whole exam.

        Raises:
            DataError: there is no other exam.
        """
        student = video.extra.get("student")
        for site, same_step, other_student in (
            (video.site, True, True), (None, True, True), (None, True, False), (None, False, False),
        ):  # fmt: skip
            members, place = self._videos[site], self._places[site][video.video_id]
            for distance in range(1, len(members)):
                other = members[(place + distance) % len(members)]
                if frozenset((video.video_id, other.video_id)) in self._minimal_pairs:
                    continue
                if same_step and step is not None and step not in other.timed_ids:
                    continue
                if other_student and student is not None and other.extra.get("student") == student:
                    continue
                return other, _shown_part(video, other, step)
        raise DataError(
            f"{video.video_id}: the ablation `mismatched_video` shows another exam, and there is none. "
            "Leave its tasks out, or use a data set of several exams."
        )


def _shown_part(video: Video, other: Video, step: str | None) -> tuple[float, float] | None:
    if step is None:
        return None
    if step in other.timed_ids:
        return other.step(step).span
    start, end = video.step(step).span or (0.0, video.duration)
    return start * other.duration / video.duration, end * other.duration / video.duration
