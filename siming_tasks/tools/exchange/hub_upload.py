"""A data set to the Hugging Face Hub, through its own library."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from siming_tasks.common.errors import DataError
from siming_tasks.common.redact import redact
from siming_tasks.data import Dataset
from siming_tasks.data.staging import stage

Gate = Literal["auto", "manual", "no"]


@dataclass(frozen=True)
class Pushed:
    """The result of an upload: the files, and the commit (None: nothing was sent)."""

    files: tuple[str, ...]
    revision: str | None


def push(
    dataset: Dataset,
    repo: str,
    *,
    labels: bool = False,
    gate: Gate = "manual",
    private: bool = False,
    branch: str | None = None,
    dry: bool = False,
) -> Pushed:
    """Upload a data set; the repository is made, and closed to those who have not asked, before anything is in it.

    ``HF_ENDPOINT`` and ``HF_TOKEN`` mean what they mean to ``huggingface_hub``. Files of an earlier upload that are no
    part of this one are removed; earlier revisions stay.

    Args:
        dataset: with its media.
        repo: ``org/name``.
        labels: whether the scores go along.
        gate: access for everybody (``no``), for who asks (``auto``), or person by person (``manual``).
        private: make a new repository private.
        branch: another than the main one; is made.
        dry: send nothing.

    Raises:
        DataError: withheld labels are wanted, no right to write there, or the hub cannot be reached; says what to do.
    """
    with tempfile.TemporaryDirectory(prefix="siming-push-") as name:
        folder = Path(name)
        files = tuple(stage(dataset, folder, labels=labels, gated=gate != "no"))
        if dry:
            return Pushed(files, None)
        label = "SYNTHETIC " if dataset.synthetic else ""
        message = f"{label}{dataset.name} {dataset.version}, digest {dataset.digest[:12]}"
        return Pushed(files, _send(folder, repo, gate, private, branch, message))


def _send(folder: Path, repo: str, gate: Gate, private: bool, branch: str | None, message: str) -> str:
    from huggingface_hub import HfApi, errors

    api, kind = HfApi(), "dataset"
    try:
        api.create_repo(repo, repo_type=kind, private=private, exist_ok=True)
        api.update_repo_settings(repo, repo_type=kind, gated=False if gate == "no" else gate)
        if branch:
            api.create_branch(repo, repo_type=kind, branch=branch, exist_ok=True)
        done = api.upload_folder(
            repo_id=repo,
            repo_type=kind,
            folder_path=folder,
            revision=branch,
            commit_message=message,
            delete_patterns="*",
        )
    except errors.HfHubHTTPError as error:
        code = error.response.status_code if error.response is not None else None
        if code in (401, 403):
            reason = "no right to write there. Run `hf auth login` with a token that may write, or set HF_TOKEN."
        else:
            reason = f"{_first_line(error)}. Try again: what was uploaded is not uploaded twice."
        raise DataError(f"{repo}: {reason}") from None
    except (errors.HFValidationError, errors.OfflineModeIsEnabled, OSError) as error:
        raise DataError(f"{repo}: {_first_line(error)}. Is the hub reachable, and HF_HUB_OFFLINE unset?") from None
    return str(done.oid)


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return str(redact(text.splitlines()[0].rstrip("."))) if text else type(error).__name__
