"""Stored frames as image objects: they look like any image, and whoever encodes them gets their file."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from siming_tasks.media import SentImages, StoredImage, View, view
from tests.conftest import film


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = tmp_path_factory.mktemp("photo")
    film(folder / "v.mp4", frames=16, rate=5)
    return view(folder / "v.mp4", span=None, frames=4, cache=folder, size=512)


def one(shown: View, *, decode: bool = False) -> tuple[StoredImage, SentImages, bytes]:
    images, sent = shown.to_send(decode=decode)
    assert isinstance(images[0], StoredImage)
    return images[0], sent, shown.store.path(shown.indices[0]).read_bytes()


def written(image: Image.Image, form: str, **how: int) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format=form, **how)
    return stream.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_a_stored_image_is_the_plain_image_and_leaves_as_its_file(shown: View, tmp_path: Path) -> None:
    for decode in (False, True):
        for mine, plain in zip(shown.to_send(decode=decode)[0], shown.images(), strict=True):
            assert (mine.mode, mine.size) == (plain.mode, plain.size) == ("RGB", (512, 288))
            assert np.array_equal(np.asarray(mine), np.asarray(plain))
    image, sent, stored = one(shown)
    assert written(image, "JPEG", quality=30) == written(image, "jpg") == stored
    assert image.tile  # Pillow's own sign that nothing is decoded yet
    np.asarray(image)
    image.save(tmp_path / "a.JPG", quality=85)
    assert not image.tile and (tmp_path / "a.JPG").read_bytes() == stored
    assert sent.facts() == {"encoding": "jpeg90 (1 of 4 images)", "bytes": len(stored)}
    data = written(image, "PNG")
    assert np.array_equal(pixels(data), pixels(stored)) and image.untouched
    assert sent.facts() == {"encoding": "png (1 of 4 images)", "bytes": len(data)}
    assert image.data_url().startswith("data:image/jpeg;base64,/9j/")


CHANGES: list[Callable[[Image.Image], object]] = [
    lambda image: ImageDraw.Draw(image).rectangle([0, 0, 40, 40], fill=(255, 0, 0)),
    lambda image: image.putpixel((3, 3), (255, 0, 0)),
    lambda image: image.thumbnail((64, 64)),
]


def test_an_image_that_was_drawn_on_is_encoded_from_its_pixels(shown: View) -> None:
    for change in CHANGES:
        for looked_at in (False, True):
            image, _, stored = one(shown, decode=looked_at)
            change(image)
            data = written(image, "JPEG", quality=85)
            assert data != stored and np.abs(pixels(data).astype(int) - np.asarray(image)).mean() < 6


def test_copies_keep_the_file_and_leave_the_original_alone(shown: View) -> None:
    image, _, stored = one(shown)
    for again in (image.copy(), image.convert("RGB")):
        assert written(again, "JPEG") == stored
    drawn = image.copy()
    drawn.paste((0, 0, 0), (0, 0, 40, 40))
    assert written(image, "JPEG") == stored != written(drawn, "JPEG")
    assert np.array_equal(np.asarray(drawn.copy()), np.asarray(drawn))
    other = pickle.loads(pickle.dumps(image))  # what another process of a backend gets
    assert type(other) is Image.Image and np.array_equal(np.asarray(other), np.asarray(image))


def test_the_last_encoding_of_each_image_counts(shown: View) -> None:
    images, sent = shown.to_send(decode=False)
    assert sent.facts() == {}  # a local model looks at pixels, and nothing is encoded
    for image in images:
        written(image, "PNG")  # tried for its size
        written(image, "JPEG")
    total = sum(shown.store.path(index).stat().st_size for index in shown.indices)
    assert sent.facts() == {"encoding": "jpeg90", "bytes": total}
    written(images[0], "PNG")
    assert sent.facts()["encoding"] == "jpeg90+png" and sent.facts()["bytes"] > total
