"""Frozen features of what each question shows: an encoder of frames, pooled over them, kept by the video's content.

The encoder is the one of ``siming_nano``, or an image backbone that the user names.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import atomic_write, sha256_file, sha256_json
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.data.resolve import fetch
from siming_tasks.media import Policy, Request, View, view
from siming_tasks.models.nano.frame_features import FrameReader, best_device
from siming_tasks.options import Options

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

_BACKBONE, _FEATURES = "1", "1"
"""Versions of what an encoder is, and of what is kept of its features: part of the keys of kept files."""

_BATCH = 16
"""Pictures that go through the network together."""

_TENSORS = ("model.safetensors", "model-*.safetensors")
_FILES = ("config.json", "preprocessor_config.json", "processor_config.json", "model.safetensors.index.json", *_TENSORS)
_ON_THE_HUB = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_UNUSED = re.compile(r"(^|\.)(pooler|head)\.")
"""Weights behind the hidden state, which a checkpoint may lack: they change no feature."""

_AT_ONCE = 64
"""Frames in memory, whatever the length of the video."""

Media = Mapping[str, Mapping[str, Any]]
"""Which frames were shown, as the record of a request says it: by step id of a clip, and under the empty name."""


def device_of(name: str) -> torch.device:
    """The device of that name; ``auto`` is a GPU where there is one (OptionsError: there is none, or it is no use)."""
    import torch

    try:
        device = best_device(None if name == "auto" else name)
        torch.zeros(1, device=device).cpu()
    except (AssertionError, NotImplementedError, RuntimeError) as error:  # what torch says of a device not there
        reason = str(error).splitlines()[0][:200]
        raise OptionsError(f"--device {name!r} cannot be used here ({reason}). Leave it out, or say cpu.") from None
    return device


class Backbone(Protocol):
    """Network, never trained here, that turns pictures into features; other features move its ``digest``."""

    name: str
    digest: str

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, features)."""


class NanoFeatures:
    """The last hidden layer of ``siming_nano``'s frame encoder, which was trained on drawings.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
        OptionsError: there is no such device.
    """

    name = "siming_nano"

    def __init__(self, device: str = "auto") -> None:
        self._reader = FrameReader(str(device_of(device)))
        self.digest = self._reader.digest

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, 192)."""
        return self._reader.embeddings(pictures)


class BackboneFeatures:
    """The last hidden state of an image backbone, averaged over its places; 32 bits on a processor, mixed on a GPU.

    Of a model of pictures and text (CLIP, SigLIP) it is the picture's half. Code that comes with a model is never run,
    and weights are read from safetensors files only.

    Args:
        source: a folder that ``save_pretrained`` wrote, or the name of a repository on the hub.
        device: ``auto``, ``cpu``, ``cuda``, ...; ``auto`` is a GPU where there is one.

    Attributes:
        name: of the folder, or of the repository.
        digest: of the weights, how pictures are prepared, the precision, and the release of ``transformers``.

    Raises:
        DataError: there is no such folder or repository, it has no weights, or is no model of pictures.
        OptionsError: there is no such device.
    """

    def __init__(self, source: str, device: str = "auto") -> None:
        import torch
        import transformers
        from PIL import Image

        self._device = device_of(device)
        folder = Path(source)
        if not folder.is_dir():
            if folder.exists():
                raise DataError(f"--backbone {source}: not a folder. Give the folder that save_pretrained wrote.")
            if not _ON_THE_HUB.fullmatch(source):
                what = "no such folder, and not the name of a repository on the hub (org/name)."
                raise DataError(f"--backbone {source}: {what}")
            folder = fetch(source, kind="model", only=_FILES, asked="--backbone ")
        self.name = folder.resolve().name if Path(source).is_dir() else source
        self._half = None
        if self._device.type == "cuda":
            self._half = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
        files = sorted({path for pattern in _FILES for path in folder.glob(pattern)})
        if not any(path.match(pattern) for path in files for pattern in _TENSORS):
            fix = "Save it with save_pretrained; other kinds of weight files are not opened."
            raise DataError(f"--backbone {source}: no weights: the folder holds no {_TENSORS[0]}. {fix}")
        with self._refusing("is no model of pictures that can be loaded"):
            self._processor = transformers.AutoImageProcessor.from_pretrained(folder, trust_remote_code=False)
            self._net = _tower(folder).float().eval().to(self._device)
        facts = [
            _BACKBONE,
            {path.name: sha256_file(path) for path in files},
            transformers.__version__,
            str(self._half),
        ]
        self.digest = sha256_json(facts)
        self([Image.new("RGB", (480, 270), (90, 120, 150))])  # before hours of videos: a refusal comes at once

    def __call__(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Features, shape (pictures, width of the hidden state)."""
        with self._refusing("cannot be run on single pictures"):
            batches = [self._encode(pictures[first : first + _BATCH]) for first in range(0, len(pictures), _BATCH)]
        features = np.concatenate(batches)
        if not np.isfinite(features).all():
            raise DataError(f"--backbone {self.name}: its features are not all numbers. Try --device cpu.")
        return features

    def _encode(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        import torch

        ready = self._processor(images=[picture.convert("RGB") for picture in pictures], return_tensors="pt")
        pixels: torch.Tensor = ready["pixel_values"]
        if pixels.ndim != 4 or len(pixels) != len(pictures):
            raise ValueError(f"pictures become an input of shape {tuple(pixels.shape)}")
        with (
            torch.inference_mode(),
            torch.autocast(self._device.type, self._half or torch.bfloat16, enabled=self._half is not None),
        ):
            hidden = self._net(pixel_values=pixels.to(self._device)).last_hidden_state.float()
        # (pictures, places, width), or of a convolutional network (pictures, width, rows, columns)
        mean = hidden.mean(1) if hidden.ndim == 3 else hidden.flatten(2).mean(2)
        features: NDArray[np.float32] = mean.cpu().numpy()
        return features

    @contextmanager
    def _refusing(self, what: str) -> Iterator[None]:
        """Turn whatever the libraries raise over a folder of another kind into one sentence."""
        from safetensors import SafetensorError

        try:
            yield
        except (
            ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, SafetensorError,
            TypeError, ValueError,
        ) as error:  # fmt: skip
            why = next(iter(str(error).splitlines()), type(error).__name__)[:200].rstrip(".")
            fix = "Name one such as ViT, DINOv2, SigLIP or CLIP."
            raise DataError(f"--backbone {self.name}: {what} ({why}). {fix}") from None


def _tower(folder: Path) -> Any:
    """The half of a network that sees, with every weight that its hidden state rests on."""
    from transformers import AutoModel

    how: dict[str, bool] = {"trust_remote_code": False, "use_safetensors": True, "output_loading_info": True}
    net, info = AutoModel.from_pretrained(folder, **how)
    inner = "" if net.main_input_name == "pixel_values" else "vision_model."
    tower = getattr(net, "vision_model", None) if inner else net
    if getattr(tower, "main_input_name", None) != "pixel_values":
        raise ValueError(f"{type(net).__name__} takes {net.main_input_name}")
    missing = sorted(name for name in info["missing_keys"] if name.startswith(inner) and not _UNUSED.search(name))
    if missing:
        raise ValueError(f"the file lacks {len(missing)} of its weights, such as {missing[0]}")
    return tower


def pool(frames: NDArray[np.float32], times: Sequence[float]) -> NDArray[np.float32]:
    """Mean, maximum and spread of each feature, and its mean in each third of the time; shape (6 × features,).

    A third without a frame is given the mean of all.

    Args:
        frames: shape (frames, features).
        times: of each frame (s), ascending.
    """
    since = np.asarray(times) - times[0]
    third = np.minimum((3 * since / (since[-1] or 1.0)).astype(int), 2)
    mean = frames.mean(0)
    parts = [frames[third == k].mean(0) if (third == k).any() else mean for k in range(3)]
    return np.concatenate([mean, frames.max(0), frames.std(0), *parts]).astype(np.float32)


def requests_of(video: Video, policy: Policy) -> dict[str, Request]:
    """Media requests of a video: by step id of its clips, and under the empty name of the whole."""
    asked: dict[str, Request] = {"": policy.request(video.duration, None, "full")}
    return asked | {name: policy.request(video.duration, video.step(name).span, "clip") for name in video.timed_ids}


def shown_facts(video: Video, policy: Policy) -> list[Any]:
    """All that decides which frames these are, but for the file."""
    asked = requests_of(video, policy).items()
    return [policy.facts(), [[name, view.span, view.budget.frames, view.budget.fps] for name, view in asked]]


def views_of(dataset: Dataset, video: Video, digest: str, options: Options) -> dict[str, View]:
    """The frames of each of :func:`requests_of`, not read yet (MediaError: the video cannot be shown)."""
    policy = Policy.of(options)
    asked = requests_of(video, policy)
    return {
        name: view(
            dataset.media_path(video),
            digest=digest,
            span=request.span,
            budget=request.budget,
            cache=options.cache_dir,
            size=policy.frame_size,
            quality=policy.quality,
            cache_gb=options.cache_gb,
            also=tuple(asked.values()),
            sampler=request.sampler,
        )
        for name, request in asked.items()
    }


def media_of(views: Mapping[str, View], options: Options) -> Media:
    """Media facts of these frames."""
    policy = Policy.of(options)
    return {
        name: {**view.info(), "density": policy.density_of("clip" if name else "full")} for name, view in views.items()
    }


def features_of(
    dataset: Dataset, video: Video, digest: str, backbone: Backbone, options: Options
) -> tuple[dict[str, NDArray[np.float32]], Media]:
    """Pooled features of a video (under the empty name) and of its steps' clips, and which frames they are of.

    They are of exactly the frames that a model is shown, and are computed once.

    Raises:
        MediaError: the video cannot be shown.
        DataError: its path leaves the folder.
    """
    policy = Policy.of(options)
    names = list(requests_of(video, policy))
    key = sha256_json([_FEATURES, backbone.digest, *shown_facts(video, policy)])[:16]
    kept = options.cache_dir / "baseline" / f"{digest}-{key}.npz"
    broken = suppress(OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)  # none, or none whole
    with broken, kept.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        known, media = stored["vectors"], json.loads(str(stored["media"]))
        if len(known) == len(names) and list(media) == names and np.isfinite(known).all():
            return dict(zip(names, known, strict=True)), media
    views = views_of(dataset, video, digest, options)
    indices = sorted({index for view in views.values() for index in view.indices})
    by_frame: dict[int, NDArray[np.float32]] = {}
    for first in range(0, len(indices), _AT_ONCE):
        some = indices[first : first + _AT_ONCE]
        by_frame.update(zip(some, backbone(views[""].store.images(some)), strict=True))
    vectors = {
        name: pool(np.stack([by_frame[index] for index in view.indices]), view.times) for name, view in views.items()
    }
    media = media_of(views, options)
    with atomic_write(kept, "wb") as stream:
        np.savez(stream, vectors=np.stack(list(vectors.values())), media=np.array(json.dumps(media)))
    return vectors, media
