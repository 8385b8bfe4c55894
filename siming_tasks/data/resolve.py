"""Choice of a run's dataset: a folder, a Hugging Face repository, or the demo that lmms-eval draws on first use."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path

from siming_tasks.common.errors import DataError
from siming_tasks.common.input_kinds import path_of
from siming_tasks.common.processes import locked
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.makers import DEMO, maker_of, public_sets
from siming_tasks.data.verify_media import verify_media
from siming_tasks.options import Options, variable

_log = logging.getLogger(__name__)
_HUB = re.compile(r"^(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?$")


def is_hub_name(text: str) -> bool:
    """True if a text is ``org/name[@revision]``."""
    return _HUB.match(text) is not None


def resolve_dataset(settings: Options, named: str = "SIMING_DATA", *, draw_demo: bool = False) -> Path:
    """The dataset folder that ``settings.data`` means, fetched if need be; without a name the demo.

    Args:
        settings: name of the data set, and the cache.
        named: the variable, flag or word that gave the name, for messages.
        draw_demo: draw the demo if it is not there yet, which takes minutes: for a run of lmms-eval alone.

    Raises:
        DataError: there is no such folder, the repository cannot be fetched, or nothing is named and there is no demo.
    """
    if not settings.data:
        return _demo(settings, draw_demo)
    if settings.data in public_sets() and not Path(settings.data).exists():
        return _public_set(settings, named)
    folder = Path(settings.data).expanduser()
    if folder.is_dir():
        return folder
    if (match := _HUB.match(settings.data)) and not folder.exists():
        return fetch(match["repo"], match["revision"], named)
    sign = "=" if named == "SIMING_DATA" else " "
    missing = "a file, not a folder" if folder.is_file() else "no such folder"
    demo = ", or unset SIMING_DATA for the SYNTHETIC demo" if draw_demo else "; `siming data demo exams` makes one"
    raise DataError(
        f"{named}{sign}{settings.data!r}: {missing}, and not a Hugging Face dataset (org/name[@revision]). Give a "
        f"folder with dataset.yaml{demo}."
    )


def as_dataset(data: object, name: str = "data") -> Dataset:
    """A data set as it is, or what its folder or name means; the videos need not be there.

    Raises:
        OptionsError: ``data`` is neither; ``name`` is the argument in the message.
        DataError: no data set, or a faulty one.
    """
    if isinstance(data, Dataset):
        return data
    folder = path_of(data, name, "data set")
    if not folder.exists():
        folder = resolve_dataset(Options(data=str(data)), name)
    return open_dataset(folder, media=False)


def _public_set(settings: Options, named: str) -> Path:
    """The folder of a public set in the cache, made on first use of the videos that its variable names."""
    home, name = settings.cache_dir / "public-sets" / settings.data, settings.data
    if variable(f"{name.upper()}_VIDEO_DIR"):
        maker_of(name).make(name, home, settings.cache_dir)
    elif not home.is_dir():
        raise DataError(
            f"{named}={name}: the videos of this set are not distributed here. Set {name.upper()}_VIDEO_DIR to their "
            f"folder; `siming data fetch {name} OUT` says where to get them."
        )
    return home


def _demo(settings: Options, draw: bool) -> Path:
    """The folder of the demo; without ``draw`` only a finished one."""

    def is_sound() -> bool:
        """True if the demo is there, whole and unchanged."""
        try:
            verify_media(open_dataset(home), settings.cache_dir)
        except DataError:
            return False
        return True

    maker = maker_of(DEMO)
    home = settings.cache_dir / DEMO / maker.version
    finished = is_sound()
    if not finished and not draw:
        raise DataError(
            "no data set is named. Give its folder: --data DIR, or SIMING_DATA=DIR; `siming data demo exams` makes "
            "a SYNTHETIC one."
        )
    _log.warning("No SIMING_DATA: using the SYNTHETIC demo in %s", home)
    if not finished:
        home.parent.mkdir(parents=True, exist_ok=True)
        with locked(f"{home}.lock"):  # one process generates, the other ranks wait
            if not is_sound():
                shutil.rmtree(home, ignore_errors=True)
                maker.make(DEMO, home, settings.cache_dir)
    return home


def fetch(repo: str, revision: str | None = None, named: str = "SIMING_DATA") -> Path:
    """Download a repository, or find it in the local cache.

    ``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` mean what they mean to ``huggingface_hub``.
    The result is the snapshot folder, named by commit.

    Raises:
        DataError: gated, unknown, or unreachable and not cached; says what to do.
    """
    from huggingface_hub import errors, snapshot_download

    what = f"{repo}@{revision}" if revision else repo
    try:
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except errors.GatedRepoError:
        reason = (
            f"access to this dataset is granted on request. Ask on its page (datasets/{repo}), then run "
            "`hf auth login` or set HF_TOKEN."
        )
    except (errors.RevisionNotFoundError, errors.RepositoryNotFoundError):
        reason = "no such dataset or revision, or it is private. Check both; for a private one run `hf auth login`."
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        reason = (
            "no such folder; a dataset of this name is not in the local cache, and the hub cannot be reached. Correct "
            "the path, or connect once (without HF_HUB_OFFLINE)."
        )
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = f"{str(error).splitlines()[0] if str(error) else type(error).__name__}. Try again or use a folder."
    raise DataError(f"{named}{'=' if named == 'SIMING_DATA' else ' '}{what}: {reason}")
