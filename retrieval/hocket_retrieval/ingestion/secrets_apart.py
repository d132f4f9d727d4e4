"""Files that are keys, passwords or a pair's own: they are no documents, however they are named.

A shell's pattern names each file of a folder, and a file that is sent over HTTP is named, too: so a secret that is
named itself is passed over like any other. What has the name of a secret and is none is read under another name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import DocumentError

HEAD_BYTES = 64 << 10  # where a key begins that is one
PAIR_FILES = ("cloud.toml", "device.toml", "cloud-retrieval.toml", "device-retrieval.toml")
STORE_FILE = "documents.sqlite"
OF_PAIR = "it is one of hocket's own files"

_OWN_FOLDERS = re.compile(r"keys|logs|run|profiles|(?:cloud|device)-(?:documents|kv)")
_NAMES = re.compile(
    r"""
    (?: credentials? | secrets? ) (?: \..* )?
    | id_ (?: rsa | dsa | ecdsa | ed25519 | xmss ) (?: [-_][^.]* )? (?: \. (?! pub$ ) .* )?
    | wg \d+ \. conf (?: \..* )?
    | [._]netrc .* | \.pgpass .* | pgpass\.conf | \.env (?: \..* )?
    | \.htpasswd | \.git-credentials | \.npmrc | \.pypirc
    | kubeconfig .* | .* \.kubeconfig
    | .* \. (?: pem | key | p8 | p12 | pfx | pkcs12 | kdbx? | jks | keystore | ppk )
         (?: \. (?: txt | bak | old | orig ) )?
    """,
    re.VERBOSE,
)
_BEGINS_KEY = re.compile(
    rb"-----BEGIN [^-]*PRIVATE KEY|---- BEGIN SSH2 [^-]*PRIVATE KEY|PuTTY-User-Key-File-|AGE-SECRET-KEY-|AGE-PLUGIN-"
    rb"|untrusted comment:.*(?:secret|encrypted)|PrivateKey\s*=",
    re.IGNORECASE,
)
_BEFORE_KEY = re.compile(
    rb"[#;].*|```.*|(?:bag|key) attributes.*|(?:friendlyName|localKeyID|subject|issuer)\s*[:=].*"
    rb"|\[interface\]|(?:address|dns|listenport|mtu)\s*=.*",
    re.IGNORECASE,
)


class SecretError(DocumentError):
    """A file that is a secret, or a pair's own, and no document."""


def has_secret_name(name: str) -> bool:
    """Tell whether a file of this name is by custom a key, or holds passwords."""
    return _NAMES.fullmatch(name.casefold()) is not None


def why_apart(path: Path) -> str:
    """Return why a file or folder is no document, by its place and its name; empty where it may be one."""
    real = Path(os.path.realpath(path))
    if any(has_secret_name(name) for name in {path.name, real.name}) and not real.is_dir():
        return "it is named like a secret: rename it if it is not one"
    if real.parent.name == ".kube" and real.name == "config":
        return "it holds a cluster's credentials"
    return OF_PAIR if is_of_pair(real) else ""


def is_of_pair(path: Path) -> bool:
    """Tell whether a real path is, or lies in, a pair's keys, stores or records, or is a file of its folder."""
    below = path
    for folder in path.parents:
        if _has(folder, STORE_FILE):
            return True
        if _is_home(folder) and (_OWN_FOLDERS.fullmatch(below.name) or (below == path and not path.is_dir())):
            return True
        below = folder
    return _has(path, STORE_FILE)


def check_content(path: str, data: bytes) -> None:
    """Raise SecretError for a file that begins with a private key."""
    if begins_with_private_key(data):
        raise SecretError(f"{path}: it begins with a private key", "keys are never ingested")


def begins_with_private_key(data: bytes) -> bool:
    """Tell whether a file begins with a private key, in UTF-8 or UTF-16.

    A byte order mark, blank lines, comments and certificates may come before it.
    """
    head = data[:HEAD_BYTES].removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b"")
    in_certificate = False
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        text = line.strip()
        if _BEGINS_KEY.match(text):
            return True
        begins = text.startswith(b"-----BEGIN ")
        in_certificate = (in_certificate or begins) and not text.startswith(b"-----END ")
        is_before = not text or begins or text.startswith(b"-----END ") or _BEFORE_KEY.fullmatch(text) is not None
        if not (in_certificate or is_before):
            return False
    return False


def _is_home(folder: Path) -> bool:
    """Tell whether a folder is a pair's: `hocket up` makes one of these files, and these folders."""
    is_used = any(os.path.isdir(folder / name) for name in ("keys", "run", "logs"))
    return is_used and any(_has(folder, name) for name in PAIR_FILES)


def _has(folder: Path, name: str) -> bool:
    return os.path.isfile(folder / name)
