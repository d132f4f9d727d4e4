"""A GGUF file's model is that of its weights, and what is no such file is refused in one line."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest
import tiny_gguf
from llama_here import needs_llama
from requantised import requantise

import hocket_models
from exact import exact
from hocket_bus.errors import BadConfiguration, HocketError
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.llamacpp.llama import Context, Stop
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.catalog.checking import MANY, check, nats_of
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.preemption import Interrupt, Preempted, Together
from hocket_daemon.engine.runtime.entry import KV
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import KVSettings
from hocket_daemon.engine.text.tokenizer import Prefix
from waiting import WAIT_S

pytestmark = needs_llama
SETTINGS = exact(slots=4, context=256)
TEXT = "The ferry to Brightholm leaves at nine in the morning and costs eighteen crowns."


@pytest.fixture(scope="module")
def transformers() -> TransformersModel:
    return TransformersModel(SETTINGS, "device")


def stored(file: Path, folder: Path, **changed: int) -> GGUFModel:
    model = GGUFModel(
        exact(**{"slots": 4, "context": 256, "dtype": "float16"} | changed), file, KVSettings(folder=str(folder))
    )
    assert model.stored is not None
    return model


@pytest.mark.slow
def test_both_engines_read_the_same_weights_alike(gguf_file: Path, transformers: TransformersModel) -> None:
    """A laptop with a GGUF file and a server with safetensors are a pair: tokens, prompts and distributions."""
    model = open_model(exact(name=str(gguf_file), slots=4, context=256), "device")
    assert isinstance(model, GGUFModel)
    assert model.fingerprint == transformers.fingerprint
    assert model.vocabulary == transformers.vocabulary
    assert set(transformers.eos) <= set(model.eos)
    for task in ("answer", "complete"):
        assert model.prompt(TEXT, task) == transformers.prompt(TEXT, task)
        assert model.layout(task).document(TEXT) == transformers.layout(task).document(TEXT)
    ids = transformers.prompt(TEXT, "complete")
    parts = [[ids[: 3 + row], ids[3 + row : 9 + 2 * row]] for row in range(4)]
    read = []
    for each in (model, transformers):
        rows = each.slots.take(4)
        read.append([each.read([Segment(rows, [part[at] for part in parts])])[0].probabilities for at in range(2)])
        each.slots.give_back(rows)
    np.testing.assert_allclose(read[0], read[1], atol=1e-5)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1", "Q4_0"])
def test_quantised_weights_read_much_as_whole_ones(kind: str, gguf_file: Path, tmp_path: Path) -> None:
    """Whatever kernels this machine has for them: some of llama.cpp's end the process."""
    requantise(gguf_file, tmp_path / "small.gguf", kind)
    nats = [_nats_a_token(file) for file in (gguf_file, tmp_path / "small.gguf")]
    assert nats[1] == pytest.approx(nats[0], abs=0.5)


def _nats_a_token(file: Path) -> float:
    model = GGUFModel(exact(slots=4, context=256, dtype="float16"), file, None)
    ids = model.prompt(TEXT, "complete")
    [rows] = model.read([Segment([0], [ids], every=True)])
    model.close()
    return float(-np.log(rows.probabilities[range(len(ids) - 1), ids[1:]]).mean())


def test_what_follows_every_token_is_told_as_it_is_token_by_token(gguf_file: Path) -> None:
    """Beside rows whose last token alone is asked for, whatever the order of the rows."""
    model = GGUFModel(SETTINGS, gguf_file)
    ids = model.prompt(TEXT, "complete")
    rows = model.slots.take(3)
    single = [model.read([Segment(rows[:1], [[token]])])[0].probabilities[0] for token in ids]
    for row in rows:
        model.slots.roll_back(row, 0)
    last, every = model.read([Segment([rows[2]], [ids[:4]]), Segment([rows[1], rows[0]], [ids, ids[:5]], every=True)])
    np.testing.assert_allclose(last.probabilities, [single[3]], atol=1e-5)
    np.testing.assert_allclose(every.probabilities, [*single, *single[:5]], atol=1e-5)


def test_a_document_that_is_kept_reads_as_it_did(gguf_file: Path, tmp_path: Path) -> None:
    """Whole or its beginning, and nothing of what stood behind it in the row is kept."""
    model = stored(gguf_file, tmp_path)
    ids = model.prompt(TEXT, "complete")
    (row,) = model.slots.take(1)
    model.read([Segment([row], [[*ids, 40, 41, 42]])])
    model.keep(row, Prefix(TEXT, ids))
    assert model.stored is not None
    model.stored.close()
    again = stored(gguf_file, tmp_path)
    for length in (len(ids), 5):
        first, second = again.slots.take(2)
        assert again.restore(first, Prefix(TEXT, ids), length)
        assert again.slots.lengths[first] == length
        again.read([Segment([second], [ids[:length]])])
        behind = again.read([Segment([first, second], [[50, 51], [50, 51]])])[0].probabilities
        np.testing.assert_allclose(behind[0], behind[1], atol=1e-6)
        again.slots.give_back([first, second])


def test_what_is_kept_belongs_to_file_and_context(gguf_file: Path, tmp_path: Path) -> None:
    """Another file's bytes, or those of rows of another length, are never put into a row."""
    model = stored(gguf_file, tmp_path)
    prefix = Prefix(TEXT, model.prompt(TEXT, "complete"))
    model.read([Segment(model.slots.take(1), [prefix.ids])])
    assert model.keep_ahead(0, prefix)
    other = tmp_path / "other.gguf"
    other.write_bytes(gguf_file.read_bytes()[:-1] + b"\x01")
    for stranger in (stored(other, tmp_path), stored(gguf_file, tmp_path, context=512)):
        assert not stranger.restore(stranger.slots.take(1)[0], prefix, 5)
    same = stored(gguf_file, tmp_path)
    assert same.restore(same.slots.take(1)[0], prefix, 5)
    more = stored(gguf_file, tmp_path, slots=8)
    assert more.restore(more.slots.take(8)[-1], prefix, 5)


def test_bytes_of_another_context_leave_an_empty_row(gguf_file: Path) -> None:
    model = GGUFModel(SETTINGS, gguf_file)
    (row,) = model.slots.take(1)
    assert not model.slots.copy_in(row, KV("uint8", [np.zeros((1, 1, 100), np.uint8)]), 3)
    assert model.slots.lengths[row] == 0
    model.read([Segment([row], [[5, 6]])])


def test_a_batch_ends_early_when_all_who_asked_for_it_gave_it_up(gguf_file: Path) -> None:
    """One is enough to go on; a stop of an earlier pass stops no later one."""
    model, members = GGUFModel(SETTINGS, gguf_file), [Interrupt(), Interrupt()]
    rows = model.slots.take(2)
    members[0].set()
    model.read([Segment(rows, [[5], [6]])], Together(members))
    members[1].set()
    with pytest.raises(Preempted):
        model.read([Segment(rows, [[7], [8]])], Together(members))
    assert [model.slots.lengths[row] for row in rows] == [1, 1]
    model.read([Segment(rows, [[7], [8]])], Interrupt())


def test_a_pass_under_way_hears_the_stop(gguf_file: Path) -> None:
    """Set from another thread while C computes: a pass over 250 tokens again and again ends."""
    model, interrupt = GGUFModel(SETTINGS, gguf_file), Interrupt()
    (row,) = model.slots.take(1)
    threading.Thread(target=interrupt.set).start()
    with pytest.raises(Preempted):
        _read_for_ever(model, row, interrupt)


def _read_for_ever(model: GGUFModel, row: int, interrupt: Interrupt) -> None:
    for _ in range(10_000):
        model.slots.roll_back(row, 0)
        model.read([Segment([row], [[5] * 250])], interrupt)


def test_a_stop_is_seen_from_its_first_byte() -> None:
    """What C asks is the length of a text: 0 is false."""
    stop = Stop()
    assert not stop.asked
    stop.set()
    assert stop.asked


class WrongInBatches(GGUFModel):
    """A kernel that is wrong where several rows are read at once."""

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        found = super().read(segments, interrupt)
        wrong = len(segments[0].rows) > 1
        return [Heads(heads.probabilities[:, ::-1], given=heads.given) if wrong else heads for heads in found]


@pytest.mark.parametrize(("kind", "word"), [(GGUFModel, ""), (WrongInBatches, "batch")])
def test_a_kernel_that_is_wrong_is_caught_and_a_sound_one_is_not(
    kind: type[GGUFModel], word: str, gguf_file: Path, transformers: TransformersModel
) -> None:
    """By what a batch changes; the float weights are transformers' own."""
    settings = exact(slots=MANY, context=256)
    found = check(kind(settings, gguf_file), nats_of(transformers))
    assert (word in found.refused) if word else not found.refused


@pytest.mark.parametrize("fault", ["short", "magic", "empty", "missing", "folder", "no tensor", "no tokenizer"])
def test_what_is_no_whole_model_is_refused_in_one_line(fault: str, gguf_file: Path, tmp_path: Path) -> None:
    file, whole = tmp_path / "model.gguf", gguf_file.read_bytes()
    if fault == "folder":
        file.mkdir()
    elif fault == "no tensor":
        tiny_gguf.write(file, without="blk.0.attn_q.weight")
    elif fault == "no tokenizer":
        tiny_gguf.write(file, tokenizer=False)
    elif fault != "missing":
        file.write_bytes({"short": whole[: len(whole) // 2], "magic": b"PK" + whole[2:], "empty": b""}[fault])
    with pytest.raises(BadConfiguration) as refused:
        open_model(exact(name=str(file)), "device")
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_language_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vision.gguf"
    writer = gguf.GGUFWriter(str(file), "clip")
    writer.add_tensor("v.patch_embd.weight", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(BadConfiguration, match="does not load"):
        open_model(exact(name=str(file)), "device")


def test_more_rows_come_when_they_are_wanted_and_the_others_read_on(gguf_file: Path) -> None:
    """What follows a text is the same, to the bit, as where memory for all rows was there before it."""
    ids = [[5, 6, 7, 8], [9, 10, 11]]

    def follows(first: int) -> tuple[list[Heads], int]:
        model = GGUFModel(exact(slots=16, context=64, dtype="float16"), gguf_file)
        model.slots.give_back(model.slots.take(first))
        rows = model.slots.take(2)
        model.read([Segment(rows, ids)])
        lengths = list(model.slots.lengths[:2])
        others = model.slots.take(14)
        assert model.slots.lengths[:2] == lengths
        model.read([Segment(others[-1:], [[3, 4]])])
        return model.read([Segment(rows, [[12], [13]])]), len({*rows, *others})

    (late,), count = follows(2)
    (early,), _ = follows(16)
    assert count == 16
    np.testing.assert_array_equal(late.probabilities, early.probabilities)


def test_a_row_that_does_not_move_is_an_error_and_all_stays(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in the memory that there was."""
    model = GGUFModel(exact(slots=8, context=64, dtype="float16"), gguf_file)
    (row,) = model.slots.take(1)
    model.read([Segment([row], [[5, 6, 7]])])
    with monkeypatch.context() as patch:
        patch.setattr(Context, "copy_in", lambda *_: 0)
        with pytest.raises(HocketError, match="cannot move"):
            model.slots.take(7)
    assert model.slots.take(3)
    (kept,) = model.read([Segment([row], [[8]])])
    fresh = GGUFModel(exact(slots=8, context=64, dtype="float16"), gguf_file)
    (again,) = fresh.slots.take(1)
    fresh.read([Segment([again], [[5, 6, 7]])])
    np.testing.assert_array_equal(kept.probabilities, fresh.read([Segment([again], [[8]])])[0].probabilities)


def test_rows_that_take_too_much_memory_are_refused(gguf_file: Path) -> None:
    model = GGUFModel(SETTINGS, gguf_file)
    with pytest.raises(BadConfiguration, match="kv_bytes"):
        GGUFModel(exact(slots=4, context=256, kv_bytes=model.slots.bytes - 1), gguf_file)
    GGUFModel(exact(slots=4, context=256, kv_bytes=model.slots.bytes), gguf_file)


@pytest.mark.parametrize("fits", [True, False])
def test_a_tokenizer_beside_the_file_is_taken_where_it_fits(
    fits: bool, gguf_file: Path, tmp_path: Path, tiny_models: dict[str, Path]
) -> None:
    """It numbers the file's tokens as the file does, or the file's own is read."""
    folder = hocket_models.path("device") if fits else tiny_models["device"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, tmp_path)
    shutil.copy(gguf_file, tmp_path)
    model = GGUFModel(SETTINGS, tmp_path / gguf_file.name)
    assert model.prompt(TEXT, "complete") == GGUFModel(SETTINGS, gguf_file).prompt(TEXT, "complete")


READS = """
import sys
from pathlib import Path
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import KVSettings, ModelSettings
model = open_model(ModelSettings(name=sys.argv[1], slots=1, context=64), "device", KVSettings(folder=sys.argv[2]))
ids = model.prompt("Where is the mill?", "answer")
row = model.slots.take(1)[0]
model.read([Segment([row], [ids])])
print(model.text(ids), sorted({"torch", "transformers"} & set(sys.modules)))
"""


def test_a_model_with_its_tokenizer_beside_it_is_read_without_torch(gguf_file: Path, tmp_path: Path) -> None:
    """Nor transformers: what they take is most of a daemon's memory and of its start."""
    shutil.copy(gguf_file, tmp_path / "model.gguf")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(hocket_models.path("device")) / name, tmp_path)
    command = [sys.executable, "-c", READS, str(tmp_path / "model.gguf"), str(tmp_path / "kv")]
    read = subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT_S)
    assert read.stdout.strip() == "Where is the mill? []"
