"""Datasets and models on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from siming_tasks.common.errors import DataError

__all__ = ["fetch"]


def fetch(
    repo: str,
    revision: str | None = None,
    *,
    kind: Literal["dataset", "model"] = "dataset",
    only: Sequence[str] | None = None,
    asked: str = "SIMING_DATA=",
) -> Path:
    """Download a repository, or find it in the local cache.

    ``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` mean what they mean to ``huggingface_hub``.

    Args:
        repo: ``org/name``.
        revision: branch, tag or commit (default: the main branch).
        kind: of repository.
        only: patterns of the files to take; None: all.
        asked: what the user wrote before the name; begins the message.

    Returns:
        The snapshot folder, named by commit.

    Raises:
        DataError: gated, unknown, or unreachable and not cached; says what to do.
    """
    from huggingface_hub import errors, snapshot_download

    what = f"{repo}@{revision}" if revision else repo
    try:
        return Path(snapshot_download(repo, repo_type=kind, revision=revision, allow_patterns=only and list(only)))
    except errors.GatedRepoError:
        page = f"datasets/{repo}" if kind == "dataset" else repo
        reason = (
            f"access to this {kind} is granted person by person. Ask for it on its page ({page}), then run "
            "`hf auth login` or set HF_TOKEN."
        )
    except errors.RevisionNotFoundError:
        reason = f"the repository has no revision {revision!r}. Leave out @{revision} for the newest."
    except errors.RepositoryNotFoundError:
        reason = f"no such {kind}, or it is private. Check the name; for a private one run `hf auth login`."
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        reason = "not in the local cache and the hub cannot be reached. Connect once, or unset HF_HUB_OFFLINE."
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = f"{str(error).splitlines()[0] if str(error) else type(error).__name__}. Try again or use a folder."
    raise DataError(f"{asked}{what}: {reason}")
