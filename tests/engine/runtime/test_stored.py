"""The laws of stored document KV: it reads like a fresh pass, damage is never used, the budget holds."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, PreTrainedModel

from conftest import save_tiny_model
from exact import exact, on_cpu
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel, model_digest
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime import stored
from hocket_daemon.engine.runtime.entry import ITEM_BYTES, KV, encode
from hocket_daemon.engine.runtime.sequences import compute_ahead
from hocket_daemon.engine.runtime.stored import StoredKV, open_store, text_digest
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import KVSettings
from hocket_daemon.engine.text.tokenizer import Prefix
from hocket_lab.forcing import distribution, read_at_once
from waiting import WAIT_S

PASSAGES = [
    "kala mira duno, soretu limba",
    "tano",
    " ".join(["meku relado sina borita kulo"] * 12),
    " ".join(["namira ditu sola pemi"] * 60),
]


@pytest.fixture(scope="module")
def plain(tiny_models: dict[str, Path]) -> TransformersModel:
    """A model that keeps nothing."""
    return TransformersModel(exact(name=str(tiny_models["device"]), slots=8), "device")


def opened(folder: Path, plain: TransformersModel, **options: object) -> TransformersModel:
    """The same with a store and empty rows, as at the start of a process."""
    model = copy(plain)
    model.open_slots(8, 0)
    model.stored = open_store(KVSettings(folder=str(folder / "kv"), **options), model_digest(plain._weights))  # type: ignore[arg-type]
    return model


def read(model: TransformersModel, passages: list[str], answer: list[int]) -> np.ndarray:
    """Log-probabilities behind an answer; afterwards the store has what it was given."""
    group = read_at_once(model, "mira soretu?", passages, task="answer", room=20)
    got = np.log(distribution(group, answer, [1 / len(passages)] * len(passages)))
    group.close()
    if model.stored is not None:
        model.stored._writer.submit(lambda: None).result(WAIT_S)
    return got


def files(folder: Path) -> list[Path]:
    return sorted((folder / "kv").glob("*.kv"))


@pytest.mark.parametrize("passages", [PASSAGES[:1], PASSAGES[1:2], PASSAGES[2:3], PASSAGES[3:], PASSAGES])
def test_stored_kv_reads_like_a_fresh_pass_also_after_a_restart(
    tmp_path: Path, plain: TransformersModel, passages: list[str]
) -> None:
    """Computing, finding, and finding in another process's store all give one distribution."""
    first = opened(tmp_path, plain)
    for model, hits in ((first, 0), (first, len(passages)), (opened(tmp_path, plain), len(passages))):
        for answer in ([], [5], [9, 17, 4]):
            found = read(model, passages, answer)
            np.testing.assert_allclose(found, read(plain, passages, answer), atol=1e-5, rtol=1e-5)
        assert model.stored is not None
        assert model.stored.hits >= hits
    assert len(files(tmp_path)) == len(passages)
    assert model.stored.misses == 0


def test_found_and_missing_documents_mix_in_one_group(tmp_path: Path, plain: TransformersModel) -> None:
    """Every pattern of kept and computed rows gives the same distribution."""
    expected = read(plain, PASSAGES, [7, 8])
    for pattern in range(2 ** len(PASSAGES)):
        folder = tmp_path / str(pattern)
        model = opened(folder, plain)
        for at, passage in enumerate(PASSAGES):
            if pattern >> at & 1:
                read(model, [passage], [])
        np.testing.assert_allclose(read(model, PASSAGES, [7, 8]), expected, atol=1e-5, rtol=1e-5)
        assert model.stored is not None
        assert model.stored.hits == pattern.bit_count()


def test_a_document_that_had_to_be_cut_uses_the_beginning_of_the_whole(
    tmp_path: Path, plain: TransformersModel
) -> None:
    """With little space left, the kept document's first positions serve; a cut one is not kept."""
    model = opened(tmp_path, plain)

    def cut(model: TransformersModel) -> np.ndarray:
        group = read_at_once(model, "mira?", PASSAGES[3:], task="answer", room=900)
        got = np.log(distribution(group, [4], [1.0]))
        group.close()
        return got

    cut(model)
    assert files(tmp_path) == []
    read(model, PASSAGES[3:], [])
    np.testing.assert_allclose(cut(model), cut(plain), atol=1e-5, rtol=1e-5)
    assert model.stored is not None
    assert model.stored.hits == 1


def flip(at: float) -> Callable[[Path], None]:
    """Effects one bit, at a share of the file's length."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * (len(data) - 1))] ^= 0x10
        path.write_bytes(data)

    return damage


def truncate(share: float) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


DAMAGES = {
    **{f"bit at {at}": flip(at) for at in (0.0, 0.0005, 0.001, 0.002, 0.01, 0.5, 1.0)},
    **{f"cut to {share}": truncate(share) for share in (0.0, 0.0002, 0.0005, 0.5, 0.999)},
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a later format": lambda path: path.write_bytes(path.read_bytes().replace(b"hocktKV\1", b"hocktKV\2", 1)),
    "another's content": lambda path: shutil.copy(max(path.parent.glob("*.kv"), key=lambda p: p != path), path),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("running", [True, False], ids=["while running", "before a start"])
def test_damage_is_recomputed_and_replaced(
    tmp_path: Path, plain: TransformersModel, damage: str, running: bool
) -> None:
    """Whatever happened to a file, it is not used, and a sound one takes its place."""
    model = opened(tmp_path, plain)
    read(model, [PASSAGES[1]], [])
    read(model, [PASSAGES[2]], [])
    name = text_digest(PASSAGES[2]).hex()
    (path,) = (path for path in files(tmp_path) if path.name.startswith(name))
    sound = path.read_bytes()
    read(model, [PASSAGES[2]], [])
    DAMAGES[damage](path)
    assert path.read_bytes() != sound
    if not running:
        model = opened(tmp_path, plain)
    assert model.stored is not None
    hits = model.stored.hits
    np.testing.assert_allclose(read(model, [PASSAGES[2]], [5]), read(plain, [PASSAGES[2]], [5]), atol=1e-5, rtol=1e-5)
    assert model.stored.hits == hits
    assert path.read_bytes() == sound


def test_an_entry_that_cannot_be_read_now_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor left is nothing that an entry could help."""
    store, prefix = StoredKV(tmp_path, 10**9, b"model"), Prefix("kala", [1, 2])
    assert store.put(prefix, some(2))

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fail)
        assert store.find(prefix) is None
    assert store.find(prefix) is not None


def test_files_are_for_their_owner_alone(tmp_path: Path, plain: TransformersModel) -> None:
    """0600 in a 0700 folder, also where the folder was wider."""
    (tmp_path / "kv").mkdir(mode=0o755)
    read(opened(tmp_path, plain), PASSAGES, [])
    assert (tmp_path / "kv").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "kv").iterdir()} == {0o600}


def test_a_disk_that_cannot_be_written_costs_no_answer(
    tmp_path: Path, plain: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be, and a disk that is full half way: the answer is right, no partial file stays."""
    (tmp_path / "file").write_text("not a folder")
    model = opened(tmp_path / "file", plain)
    expected = read(plain, PASSAGES, [5])
    np.testing.assert_allclose(read(model, PASSAGES, [5]), expected, atol=1e-5, rtol=1e-5)

    model = opened(tmp_path, plain)
    assert model.stored is not None

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(model.stored, "_touch", full)
        np.testing.assert_allclose(read(model, PASSAGES, [5]), expected, atol=1e-5, rtol=1e-5)
    assert list((tmp_path / "kv").iterdir()) == []
    read(model, PASSAGES, [5])
    assert len(files(tmp_path)) == len(PASSAGES)


def test_the_key_changes_with_everything_the_numbers_depend_on(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Other ids, weights, configuration or dtype: other names; the same again: the same."""

    def name(folder: Path, ids: list[int], dtype: str = "float32") -> str:
        settings = exact(name=str(folder), slots=1, dtype=dtype)
        stored = TransformersModel(settings, "device", KVSettings(folder=str(tmp_path / "kv"))).stored
        assert stored is not None
        return stored._name(Prefix("text", ids))[0]

    def changed(change: Callable[[PreTrainedModel], object]) -> Path:
        folder = save_tiny_model(tmp_path / change.__name__, seed=1)
        weights = AutoModelForCausalLM.from_pretrained(folder)
        with torch.no_grad():
            change(weights)
        weights.save_pretrained(folder)
        return folder

    def nothing(_: PreTrainedModel) -> None: ...

    def configuration(model: PreTrainedModel) -> None:
        model.config.rms_norm_eps *= 2

    def weight(model: PreTrainedModel) -> None:
        model.model.layers[-1].mlp.down_proj.weight[3, 3] += 1e-3

    names = [name(tiny_models["device"], ids) for ids in ([1, 2], [1, 3], [1], [1, 2, 0], [513])]
    names += [name(tiny_models["device"], [1, 2], "bfloat16")]
    assert name(changed(nothing), [1, 2]) == names[0]
    names += [name(changed(change), [1, 2]) for change in (configuration, weight)]
    assert len(set(names)) == len(names)


# --- the store alone --------------------------------------------------------------------------------------------------


def some(tokens: int, seed: int = 0) -> KV:
    source = np.random.default_rng(seed)
    return KV("float32", [source.integers(256, size=(2, tokens, 32), dtype=np.uint8) for _ in range(4)])


def prefix(number: int, tokens: int = 4) -> Prefix:
    return Prefix(f"text {number}", [number] * tokens)


def same(one: KV, other: KV) -> bool:
    return one.dtype == other.dtype and all(
        np.array_equal(*pair) for pair in zip(one.states, other.states, strict=True)
    )


SIZE = sum(len(part) for part in encode(b"key", some(4)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    counter = iter(range(10**6))
    base = tmp_path_factory.mktemp("stores")
    return lambda: base / str(next(counter))


OPERATION = st.tuples(st.sampled_from(["put", "find", "ahead", "restart", "other"]), st.integers(0, 7))


@settings(max_examples=60)
@given(st.lists(OPERATION, max_size=40), st.integers(1, 5))
def test_the_least_recently_used_go_and_the_budget_holds(
    folders: Callable[[], Path], operations: list[tuple[str, int]], room: int
) -> None:
    """Any sequence of puts and finds by two stores of one folder keeps exactly what a model of LRU keeps."""
    folder = folders()
    budget = room * SIZE
    ours, theirs = (StoredKV(folder, budget, b"model") for _ in range(2))
    order: list[int] = []  # the least recently used first
    for verb, number in operations:
        store = theirs if verb == "other" else ours
        if verb == "find":
            kv = store.find(prefix(number))
            assert (kv is not None) == (number in order)
            if kv is not None:
                assert same(kv, some(4, number))
                order = [*(n for n in order if n != number), number]
        elif verb == "restart":
            ours.close()
            ours = StoredKV(folder, budget, b"model")
        elif verb == "ahead":
            kept = store.put(prefix(number), some(4, number), evict=False)
            assert kept == (number in order or len(order) < room)
            order += [number] if kept and number not in order else []
        elif number not in order:
            assert store.put(prefix(number), some(4, number))
            order = [*order, number][-room:]
        used = [path.stat().st_size for path in folder.glob("*.kv")]
        assert sum(used) <= budget
        assert {n for n in range(8) if ours.has(prefix(n))} == set(order)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("dtype", list(ITEM_BYTES))
def test_an_entry_comes_back_bit_for_bit(tmp_path: Path, dtype: str) -> None:
    """In every dtype of a model, also where keys and values have odd and unequal widths."""
    source = np.random.default_rng(3)
    shapes = [(3, 5, 7 * ITEM_BYTES[dtype]), (1, 5, 9 * ITEM_BYTES[dtype])] * 2
    kv = KV(dtype, [source.integers(256, size=shape, dtype=np.uint8) for shape in shapes])
    assert StoredKV(tmp_path, 10**9, b"model").put(prefix(1), kv)
    found = StoredKV(tmp_path, 10**9, b"model").find(prefix(1))
    assert found is not None
    assert same(found, kv)


def test_an_entry_larger_than_the_budget_is_not_kept(tmp_path: Path) -> None:
    """And costs no other entry its place."""
    store = StoredKV(tmp_path, SIZE, b"model")
    assert store.put(prefix(1), some(4))
    assert not store.put(prefix(2, 400), some(400))
    assert store.has(prefix(1))


def test_what_waits_for_a_slow_disk_is_bounded_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the documents are; one is always taken, and a put that fails leaves its room."""
    monkeypatch.setattr(stored, "_MAX_WAITING_BYTES", 3 * some(4).bytes)
    store, go, taken = StoredKV(tmp_path, 10**9, b"model"), threading.Event(), []

    def slow(prefix: Prefix, kv: KV, *, evict: bool = True) -> bool:
        assert go.wait(WAIT_S)
        taken.append(prefix)
        raise RuntimeError("no such disk")

    monkeypatch.setattr(store, "put", slow)
    for number in range(10):
        store.put_later(prefix(number), some(4))
    go.set()
    store._writer.submit(lambda: None).result(WAIT_S)
    assert taken == [prefix(number) for number in range(3)]
    store.put_later(prefix(99), some(400))
    store.close()
    assert taken[3:] == [prefix(99)]


def test_removed_texts_go_whatever_model_made_them_and_do_not_come_back(tmp_path: Path) -> None:
    """After `retain` no file of another text is there, and none is taken, also not one already on its way."""
    ours, theirs = StoredKV(tmp_path, 10**9, b"model"), StoredKV(tmp_path, 10**9, b"another model")
    for number in range(4):
        assert ours.put(prefix(number), some(4))
        assert theirs.put(prefix(number), some(4))
    ours.retain(text_digest(f"text {number}") for number in (1, 2))
    ours.put_later(prefix(0), some(4))
    ours.put_later(prefix(1, 9), some(9))
    ours.close()
    assert not ours.put(prefix(3), some(4))
    kept = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert kept == {text_digest(f"text {number}").hex() for number in (1, 2)}
    assert len(list(tmp_path.iterdir())) == 5


def test_what_a_dead_process_left_half_written_goes(tmp_path: Path) -> None:
    """A young partial file may be another process's; an old one is nobody's."""
    for name, age_s in (("1-a.partial", 3600), ("2-b.partial", 0)):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)
    StoredKV(tmp_path, 10**9, b"model")
    assert [path.name for path in tmp_path.iterdir()] == ["2-b.partial"]


# --- ahead of time ----------------------------------------------------------------------------------------------------


def test_computing_ahead_resumes_and_fills_no_more_than_the_budget(tmp_path: Path, plain: TransformersModel) -> None:
    """What is on disk is not computed again; a question then finds it; a full store ends it without evicting."""
    model = opened(tmp_path, plain)
    assert compute_ahead(model, PASSAGES[:2], Interrupt()) == (2, True)
    begun: list[object] = []
    for each in (model, again := opened(tmp_path, plain)):
        inner = each.read
        each.read = lambda segments, *a, inner=inner: (  # type: ignore[method-assign,misc]
            begun.extend(ids for ids in segments[0].tokens if ids[0] == 0),  # a document begins with BOS
            inner(segments, *a),
        )[1]
    assert compute_ahead(again, PASSAGES, Interrupt()) == (4, True)
    assert len(begun) == 2
    np.testing.assert_allclose(read(again, PASSAGES, [5]), read(plain, PASSAGES, [5]), atol=1e-5, rtol=1e-5)
    assert again.stored is not None
    assert (again.stored.hits, len(begun)) == (4, 2)

    small = opened(tmp_path / "small", plain, budget_bytes=sum(p.stat().st_size for p in files(tmp_path)[:2]))
    done, room = compute_ahead(small, PASSAGES * 2, Interrupt())
    assert not room
    assert 0 < done < 4
    assert small.stored is not None
    assert small.stored.bytes <= sum(path.stat().st_size for path in files(tmp_path)[:2])


def test_computing_ahead_stops_at_a_request_within_a_layer_and_gives_its_row_back(
    tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """Interrupted in the middle of a pass: nothing of it is kept, what was done before is, the row is free."""
    settings = exact(name=str(tiny_models["device"]), slots=8)
    with on_cpu():  # a GPU's passes are captured, and end sooner than they could be left
        model = TransformersModel(settings, "device", KVSettings(folder=str(tmp_path / "kv")))
    interrupt = Interrupt()
    inner, layers = model.read, []

    def interrupted(segments: list[Segment], given: Interrupt) -> object:
        if len(files(tmp_path)) == 1:
            model.slots._layers[0].update = (  # type: ignore[method-assign]
                lambda *a, update=model.slots._layers[0].update, **k: (interrupt.set(), update(*a, **k))[1]
            )
            model.slots._layers[1].update = lambda *a, **k: layers.append(1)  # type: ignore[method-assign,assign]
        return inner(segments, given)

    model.read = interrupted  # type: ignore[method-assign]
    assert compute_ahead(model, PASSAGES, interrupt) == (1, True)
    assert layers == []
    assert len(files(tmp_path)) == 1
    assert all(model.slots._free)
