"""Datasets on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

from siming_tasks.errors import DataError

__all__ = ["fetch"]


def fetch(repo: str, revision: str | None = None) -> Path:
    """Download a dataset repository, or find it in the local cache.

    ``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` mean what they mean to ``huggingface_hub``.

    Args:
        repo: ``org/name``.
        revision: branch, tag or commit (default: the main branch).

    Returns:
        The snapshot folder, named by commit.

    Raises:
        DataError: gated, unknown, or unreachable and not cached; says what to do.
    """
    from huggingface_hub import errors, snapshot_download

    what = f"{repo}@{revision}" if revision else repo
    try:
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except errors.GatedRepoError:
        reason = (
            f"access to this dataset is granted person by person. Ask for it on its page (datasets/{repo}), then run "
            "`hf auth login` or set HF_TOKEN."
        )
    except errors.RevisionNotFoundError:
        reason = f"the repository has no revision {revision!r}. Leave out @{revision} for the newest."
    except errors.RepositoryNotFoundError:
        reason = "no such dataset, or it is private. Check the name; for a private one run `hf auth login`."
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        reason = "not in the local cache and the hub cannot be reached. Connect once, or unset HF_HUB_OFFLINE."
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = f"{str(error).splitlines()[0] if str(error) else type(error).__name__}. Try again or use a folder."
    raise DataError(f"SIMING_DATA={what}: {reason}")
