"""Keys, passwords and a pair's own files are no documents: they are passed over, and named with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_retrieval.errors import DocumentError
from hocket_retrieval.ingestion.secrets_apart import begins_with_private_key, has_secret_name
from hocket_retrieval.ingestion.walk import Walk, read_bytes

SECRETS = [
    *("id_rsa", "id_rsa.txt", "ID_RSA.TXT", "id_ed25519", "id_ed25519_sk.txt", "id_ecdsa-old.txt", "id_rsa_work.md"),
    *("credentials.json", "credentials", "Credentials.md", "credentials.json.bak", "credential.txt"),
    *("secret.txt", "secret.toml", "secrets.yaml", "SECRETS.yml.txt", "wg0.conf", "wg12.conf", "pgpass.conf"),
    *(".netrc", "_netrc", ".pgpass", ".env", ".env.local", "kubeconfig", "kubeconfig.yaml", "home.kubeconfig"),
    *("server.pem", "server.key", "a.p12", "a.pfx", "vault.kdbx", "server.key.txt", "A.PEM.BAK", "x.jks", "x.ppk"),
]
PLAIN = [
    *("secretary.md", "my-secrets-of-cooking.md", "id_rsa.pub", "keynote.md", "the.key.points.md", "wg.md", "pem.txt"),
    *("credentialism.md", "environment.md", "kube.md", "identity.txt", "monthly.key.figures.csv", "wg0.md"),
]
KEYS = [
    b"-----BEGIN PRIVATE KEY-----\nMIIE",
    b"-----BEGIN RSA PRIVATE KEY-----\n",
    b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
    b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
    b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
    b"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n",
    b"PuTTY-User-Key-File-3: ssh-ed25519\n",
    b"# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1QQ\n",
    b"-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----\n",
    b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",
    b"Bag Attributes\n    friendlyName: x\nKey Attributes: <No Attributes>\n-----BEGIN PRIVATE KEY-----\n",
    b"[Interface]\nAddress = 10.0.0.1/24\nPrivateKey = AAAA\n",
    b"```\n-----BEGIN PRIVATE KEY-----\n",
]
BEFORE = [b"", b"\xef\xbb\xbf", b"\n\r\n  \n", b"\xef\xbb\xbf\n\n", b"\r\n\t"]


@pytest.mark.parametrize("name", SECRETS)
def test_these_are_names_of_secrets(name: str) -> None:
    assert has_secret_name(name)


@pytest.mark.parametrize("name", PLAIN)
def test_these_are_not(name: str) -> None:
    assert not has_secret_name(name)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("before", BEFORE)
def test_a_key_is_known_by_how_it_begins(key: bytes, before: bytes) -> None:
    """Also in UTF-16, behind its mark."""
    assert begins_with_private_key(before + key)
    text = (before + key).decode("utf-8-sig")
    assert begins_with_private_key(text.encode("utf-16"))
    assert begins_with_private_key(text.encode("utf-16-be"))


@pytest.mark.parametrize(
    "text",
    [b"", b"\n" * 9, b"Begin.\n-----BEGIN PRIVATE KEY-----", b"-----BEGIN PUBLIC KEY-----\nM", b"# A key\n\nIs."],
)
def test_a_text_about_keys_is_none(text: bytes) -> None:
    assert not begins_with_private_key(text)


def test_what_looks_like_a_key_takes_linear_time() -> None:
    """Whatever the head is made of, each of its lines is looked at once."""
    for piece in (b" ", b"#", b"-----BEGIN ", b"\n ", b"```", b"untrusted comment:", b"privatekey "):
        assert not begins_with_private_key(piece * (1 << 20))


def passed_over(*paths: Path) -> dict[str, str]:
    return {Path(name).name: reason for name, reason in Walk(paths).passed_over}


def test_a_folder_gives_no_secret_and_names_each(tmp_path: Path) -> None:
    """Hidden ones, too."""
    for name in SECRETS:
        (tmp_path / name).write_text("text")
    (tmp_path / "notes.md").write_text("text")
    walk = Walk([tmp_path])
    assert [Path(file.name).name for file in walk.files] == ["notes.md"]
    assert {Path(name).name for name, _ in walk.passed_over} == {*SECRETS}
    assert all("secret" in reason for _, reason in walk.passed_over)
    assert not walk.errors
    assert f"{len(SECRETS)} secret(s)" in walk.notices[0]


@pytest.mark.parametrize("name", ["secrets.md", "id_rsa.txt", ".netrc"])
def test_a_secret_that_is_named_itself_is_refused(tmp_path: Path, name: str) -> None:
    """A shell's pattern names files, too. So is a link of another name that leads to one."""
    file = tmp_path / name
    file.write_text("text")
    link = tmp_path / "notes.md"
    link.symlink_to(file)
    for path in (file, link):
        walk = Walk([path])
        assert walk.files == []
        assert "rename it if" in walk.errors[0][1]


def test_a_file_that_begins_with_a_key_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"\n\n" + KEYS[3])
    with pytest.raises(DocumentError, match="private key"):
        read_bytes(file)


def home(at: Path) -> Path:
    """A pair's folder, as `hocket up` makes it, with an upload."""
    for name in ("keys", "run", "logs", "device-documents", "device-kv", "uploads"):
        (at / name).mkdir(parents=True)
    for name in ("device.toml", "device-retrieval.toml", "serve-keys.json", "keys/peers.toml", "logs/device.log"):
        (at / name).write_text("text")
    (at / "device-documents" / "documents.sqlite").write_text("x")
    (at / "device-documents" / "notes.md").write_text("text")
    (at / "uploads" / "own.md").write_text("text")
    return at


def test_a_pairs_folder_gives_what_was_sent_to_it_and_nothing_else(tmp_path: Path) -> None:
    """Whichever folder above or below is named, by itself or by a link."""
    at = home(tmp_path / "pair")
    (tmp_path / "link").symlink_to(at / "keys")
    assert [Path(file.name).name for file in Walk([tmp_path]).files] == ["own.md"]
    assert [Path(file.name).name for file in Walk([at]).files] == ["own.md"]
    assert [Path(file.name).name for file in Walk([at / "uploads", at / "uploads" / "own.md"]).files] == ["own.md"]
    for path in (
        at / "keys",
        at / "keys" / "peers.toml",
        at / "device.toml",
        at / "device-documents",
        tmp_path / "link",
    ):
        walk = Walk([path])
        assert walk.files == [], path
        assert "hocket's own files" in walk.errors[0][1]
    reasons = passed_over(tmp_path)
    assert {"keys", "logs", "device-documents", "device.toml", "serve-keys.json"} <= {*reasons}


def test_a_folder_with_a_file_of_such_a_name_is_nobodys_pair(tmp_path: Path) -> None:
    (tmp_path / "device.toml").write_text("text")
    (tmp_path / "keys.md").write_text("text")
    assert len(Walk([tmp_path]).files) == 2


def test_a_key_in_a_folder_is_named_and_the_rest_is_read(collection, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """That is no failure of the ingestion. What was read under a secret's name before is forgotten."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The bakery bakes rye bread.")
    (folder / "b.txt").write_bytes(KEYS[0])
    collection.add([(str(folder / "id_rsa.txt"), "", "a key of an earlier reading")])
    (folder / "id_rsa.txt").write_bytes(KEYS[0])
    report = collection.ingest([folder])
    assert (report.added, report.removed, report.errors) == (1, 1, [])
    assert [Path(document.name).name for document in collection.documents()] == ["a.txt"]
    names = {Path(name).name: reason for name, reason in collection.skipped.page(0, 9)[0]}
    assert "private key" in names["b.txt"]
    assert "secret" in names["id_rsa.txt"]
