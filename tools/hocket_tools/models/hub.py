"""Files of the Hugging Face hub, or of a mirror (HF_ENDPOINT): identified by hash, and resumed after a break."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import logging
from huggingface_hub.utils._headers import build_hf_headers

from hocket_bus.errors import BadRequest, Unavailable

WAIT_S = 30.0  # for a list of files
_READ = re.compile(r"(?!consolidated)[^/]+\.(safetensors|json|jinja|model)|merges\.txt|vocab\.txt")  # by transformers


@dataclass(frozen=True, slots=True)
class Remote:
    """A file in the list of a repository; small files have no hash there."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Repository:
    """The content of a repository at one commit."""

    name: str
    commit: str
    licence: str
    files: tuple[Remote, ...]

    def file(self, name: str) -> Remote:
        """Return the file with this name. Raises BadRequest."""
        for each in self.files:
            if each.name == name:
                return each
        raise BadRequest(f"{self.name} has no file {name}", f"it has: {', '.join(each.name for each in self.files)}")

    def weights(self) -> list[Remote]:
        """Return the files that transformers reads of a model: no code and nothing pickled. Raises BadRequest."""
        read = [each for each in self.files if _READ.fullmatch(each.name)]
        if not any(each.name.endswith(".safetensors") for each in read):
            ggufs = [each.name for each in self.files if each.name.endswith(".gguf")]
            remedy = f"name one of its files: {self.name}:{ggufs[0]}" if ggufs else "name a repository that has them"
            raise BadRequest(f"{self.name} has no weights as .safetensors", remedy)
        return read


def listed(name: str, revision: str = "main") -> Repository:
    """Return a repository with the list of its files. Raises BadRequest and Unavailable."""
    with _explained(name):
        info = HfApi(endpoint=_endpoint()).model_info(name, revision=revision, files_metadata=True, timeout=WAIT_S)
    files = tuple(
        Remote(each.rfilename, int(each.size or 0), each.lfs.sha256 if each.lfs else "") for each in info.siblings or []
    )
    licences = [tag.removeprefix("license:") for tag in info.tags or [] if tag.startswith("license:")]
    return Repository(name, str(info.sha), licences[0] if licences else "not stated", files)


def download(repository: Repository, remote: Remote, folder: Path, sha256: str = "") -> Path:
    """Download a file below `folder`, or the rest of it, and return its path; `sha256` is a hash known from elsewhere.

    What was downloaded stays when this ends early. Raises BadRequest and Unavailable, and OSError for a full disk.
    """
    wanted = sha256 or remote.sha256
    if sha256 and remote.sha256 and sha256 != remote.sha256:
        raise _other(repository, remote)
    at = folder / repository.commit  # files of two commits are no model
    at.mkdir(exist_ok=True)
    done, partial = at / Path(remote.name).name, at / f"{Path(remote.name).name}.partial"
    if done.exists():
        return done
    with _explained(repository.name), partial.open("ab") as file:
        have = file.tell()
        if (free := shutil.disk_usage(folder).free) < remote.bytes - have:
            raise OSError(errno.ENOSPC, f"{free / 1e6:.0f} MB are free")
        url = hf_hub_url(repository.name, remote.name, revision=repository.commit, endpoint=_endpoint())
        http_get(url, file, resume_size=have, headers=build_hf_headers(), expected_size=remote.bytes)
    if wanted and _sha256(partial) != wanted:
        partial.unlink()
        raise _other(repository, remote)
    partial.rename(done)
    return done


def _endpoint() -> str | None:
    """Return the address of a mirror, or of another server that speaks the hub's protocol; None is the hub itself."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _other(repository: Repository, remote: Remote) -> BadRequest:
    return BadRequest(
        f"{remote.name} of {repository.name} does not match its known sha256",
        "get it again; if that fails too, its publisher or a mirror has changed it",
    )


@contextmanager
def _explained(repository: str) -> Iterator[None]:
    """Turn each error of a download into BadRequest or Unavailable with one line; a full disk stays an OSError."""
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    except GatedRepoError as error:
        raise Unavailable(
            f"{repository} is only for those who accept its terms",
            "accept them on its page, then set HF_TOKEN, or log in: hf auth login",
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError, RemoteEntryNotFoundError, HFValidationError) as error:
        raise BadRequest(
            f"the hub has no {repository}, or it is private", "see: hocket model list; or set HF_TOKEN"
        ) from error
    except OfflineModeIsEnabled as error:
        raise Unavailable("HF_HUB_OFFLINE is set, so nothing is downloaded", "unset it") from error
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else "no answer"
        raise Unavailable(f"the hub answered {status}", "try again later") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise Unavailable(
            f"the hub cannot be reached ({' '.join(str(error).split())[:120]})",
            "check the network, HTTPS_PROXY and HF_ENDPOINT; what was downloaded stays",
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise Unavailable(f"the download broke off ({' '.join(str(error).split())[:120]})", "try again") from error
