"""The public folder of a data set to the Hugging Face Hub, through its own library."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_file
from siming_tasks.data import Dataset
from siming_tasks.data.consent import copy_recording
from siming_tasks.data.gate import built, requests
from siming_tasks.data.withholding import public_files

Gate = Literal["auto", "manual", "no"]


def push(dataset: Dataset, repo: str, *, gate: Gate = "manual", private: bool = False) -> str:
    """Upload a public folder; the repository is created, and access restricted, before it has any content.

    ``HF_ENDPOINT`` and ``HF_TOKEN`` mean what they mean to ``huggingface_hub``. Files of an earlier upload that do not
    belong to this one are removed; earlier revisions stay.

    Args:
        dataset: opened from the folder that ``siming data split`` made.
        repo: ``org/name``.
        gate: access for everybody (``no``), for who asks (``auto``), or person by person (``manual``).
        private: make a new repository private.

    Returns:
        The commit.

    Raises:
        DataError: another folder, no right to write there, or the hub cannot be reached; says what to do.
    """
    from huggingface_hub import HfApi, errors

    files = public_files(dataset)
    api, kind = HfApi(), "dataset"
    label = "SYNTHETIC " if dataset.synthetic else ""
    with requests(api.endpoint):
        built(dataset)
        _refuse_more_than_pictures(dataset)
        try:
            api.create_repo(repo, repo_type=kind, private=private, exist_ok=True)
            api.update_repo_settings(repo, repo_type=kind, gated=False if gate == "no" else gate)
            done = api.upload_folder(
                repo_id=repo,
                repo_type=kind,
                folder_path=dataset.root,
                allow_patterns=list(files),
                commit_message=f"{label}{dataset.name} {dataset.version}, digest {dataset.digest[:12]}",
                delete_patterns="*",
            )
        except errors.HfHubHTTPError as error:
            code = error.response.status_code if error.response is not None else None
            if code in (401, 403):
                reason = "no right to write there. Run `hf auth login` with a token that may write, or set HF_TOKEN."
            else:
                reason = f"the hub answered HTTP {code}. Try again: uploaded files are not sent twice."
            raise DataError(f"{repo}: {reason}") from None
        except errors.HFValidationError:
            raise DataError(f"{repo}: not the name of a data set on the hub (ORG/NAME).") from None
        except (errors.OfflineModeIsEnabled, OSError, RuntimeError, *errors.HfHubHTTPError.__bases__) as error:
            # the bases are the errors of the HTTP library of the hub's own; RuntimeError is of one file
            kind = type(error).__name__
            raise DataError(f"{repo}: not uploaded ({kind}). Is the hub reachable, and HF_HUB_OFFLINE unset?") from None
    return str(done.oid)


def _refuse_more_than_pictures(dataset: Dataset) -> None:
    """Refuse files that are not as `siming data split` copies them, byte by byte (DataError)."""
    with tempfile.TemporaryDirectory() as folder:
        for video in dataset.videos:
            copy = Path(folder) / "copy.mp4"
            copy_recording(dataset, video, copy)
            if sha256_file(copy) != sha256_file(dataset.media_path(video)):
                what = f"video {video.video_id!r} may contain more than pictures (place, name, device, date)"
                raise DataError(f"{dataset.root}: {what}. Upload the public folder that `siming data split` makes.")
