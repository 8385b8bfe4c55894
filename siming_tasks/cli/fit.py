"""What ``siming plan`` says of a service's limits: which settings fit, and what would."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siming_tasks.media import Policy
    from siming_tasks.media.plan import ExamFacts, RunPlan
    from siming_tasks.models.recipes import Service, Weight

__all__ = ["print_fit"]

BYTES_PER_PIXEL = {"jpeg90": 0.33, "jpeg75": 0.18, "jpeg60": 0.13, "jpeg40": 0.09, "webp80": 0.21, "png": 1.9}
"""Of a sharp 720p recording with sensor noise, scaled to 896 x 504; smooth pictures take a third."""


def print_fit(found: RunPlan, exams: Sequence[ExamFacts], policy: Policy, service: Service) -> None:
    """Print each setting's heaviest request beside the limits, and what would fit where it does not."""
    print(
        f"\n{service.title}, as of {service.checked}: {service.request_mb:g} MB and {service.images} images a request"
    )
    print(f"({service.source}{'; ' + service.note if service.note else ''}). Frames are taken for noisy photographs.")
    for setting in found.settings:
        weight = _weight(setting.frames_max, exams, policy)
        reasons = service.refuses(weight)
        verdict = "fits" if not reasons else f"DOES NOT FIT: {'; '.join(reasons)}"
        print(f"  {setting.setting:17}{weight.images:5} images, about {weight.request / 1e6:5.1f} MB: {verdict}")
        if reasons:
            ways = list(_ways(setting.frames_max, exams, policy, service))
            print(f"{'':19}would fit: {', or '.join(ways) if ways else 'nothing that changes one option alone'}")


def bytes_per_pixel(policy: Policy) -> float:
    """Of the images as they are sent: the nearest known quality that is not better."""
    encoding = policy.encoding.beside(policy.quality)
    if encoding.quality is None:
        return BYTES_PER_PIXEL["png"]
    known = {int(name[4:]): value for name, value in BYTES_PER_PIXEL.items() if name.startswith("jpeg")}
    share = known[min((quality for quality in known if quality >= encoding.quality), default=90)]
    return share * (BYTES_PER_PIXEL["webp80"] / known[75] if encoding.format == "webp" else 1)


def _weight(images: int, exams: Sequence[ExamFacts], policy: Policy) -> Weight:
    from siming_tasks.media.picture import fitted
    from siming_tasks.models.recipes import Weight

    sides = [fitted(exam.width, exam.height, policy.frame_size) for exam in exams]
    size = max((width * height for width, height in sides), default=0) * bytes_per_pixel(policy)
    return Weight(images, round(images * size), round(size), max((max(pair) for pair in sides), default=0))


def _ways(images: int, exams: Sequence[ExamFacts], policy: Policy, service: Service) -> Iterator[str]:
    from siming_tasks.media.encoding import Encoding

    weight = _weight(images, exams, policy)
    if (fewer := service.fitting(weight)) > 0 and not service.refuses(_weight(fewer, exams, policy)):
        yield f"{fewer} frames"
    scale = math.sqrt(service.request_mb * 1e6 / weight.request)
    smaller = min(service.side_above_20_images or weight.side, math.floor(weight.side * scale / 32) * 32)
    if smaller >= 224 and not service.refuses(_weight(images, exams, replace(policy, frame_size=smaller))):
        yield f"--frame-size {smaller}"
    for form in ("jpeg", "jpeg75", "jpeg60", "jpeg40"):
        other = replace(policy, encoding=Encoding.of(form))
        if other.encoding != policy.encoding and not service.refuses(_weight(images, exams, other)):
            yield f"--image-format {form}"
            return
