"""Laws of taking turns: a small file waits for no large one, and everyone hears how far it is."""

import threading
from types import SimpleNamespace

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.ingestion import ingest
from hocket_retrieval.ingestion.job import Job
from hocket_retrieval.ingestion.turns import SHARE, Turns
from waiting import WAIT_S


def draft(chunks):
    return SimpleNamespace(spans=[(n, n + 1) for n in range(chunks)])


@pytest.mark.parametrize("limit", [1, SHARE, 100, 1000])
def test_each_chunk_is_taken_once_and_nobody_waits_longer_than_a_round(limit):
    """Between two shares of a draft every other one has had its own."""
    turns, sizes = Turns(), {"large": 1000, "small": 3, "middle": 70}
    drafts = {name: draft(chunks) for name, chunks in sizes.items()}
    for one in drafts.values():
        turns.add(one)
    taken = []
    while batch := turns.take(limit):
        assert sum(share.last - share.first for share in batch) <= limit
        taken += batch
    for name, one in drafts.items():
        own = [share for share in taken if share.draft is one]
        assert [n for share in own for n in range(share.first, share.last)] == list(range(sizes[name]))
        assert [share.is_last for share in own] == [False] * (len(own) - 1) + [True]
    small = next(place for place, share in enumerate(taken) if share.draft is drafts["small"] and share.is_last)
    assert sum(share.last - share.first for share in taken[:small]) <= 3 * 2 * SHARE


@pytest.mark.slow
def test_a_small_file_does_not_wait_for_a_large_one(tmp_path, toys, monkeypatch):
    """A note that is accepted while a large file is embedded is done, and found, long before that."""
    monkeypatch.setattr(ingest, "BATCH_CHUNKS", 64)
    large, note = tmp_path / "large.txt", tmp_path / "note.txt"
    large.write_text(" ".join(f"Sentence {n} of the large file is here." for n in range(4_000)))
    note.write_text("The name is Ada Merrow.")
    toy, seen, ended = toys(dimension=8), [], {}
    toy.gate.clear()
    with Collection(tmp_path / "state", toy, chunk_words=8) as collection:
        jobs = {
            path: Job(seen.append, lambda error, path=path: ended.setdefault(path, (error, len(toy.embedded))))
            for path in (large, note)
        }
        collection.accept([large], jobs[large])
        working = threading.Thread(target=collection.work, args=(Job(),))
        working.start()
        assert toy.entered.wait(WAIT_S)
        collection.accept([note], jobs[note])
        embedded, lane = toy.documents, collection._ingester._lanes[0]

        def when_the_lane_rests(texts):  # the note is read as fast as the large file is embedded
            lane._thread.submit(lambda: None).result(WAIT_S)
            return embedded(texts)

        toy.documents = when_the_lane_rests
        toy.gate.set()
        working.join(WAIT_S)
    assert list(ended) == [note, large]
    assert ended[note][0] is ended[large][0] is None
    assert ended[note][1] < 2_000
    waiting = [progress for progress in seen if progress.waiting]
    assert {progress.name for progress in waiting} <= {"", str(large)}
    assert any(progress.files_total == 1 for progress in waiting)
    estimates = [progress for progress in seen if progress.name == str(large) and not progress.waiting]
    assert 0.5 < estimates[0].chunks_total / 4_000 < 2
    assert estimates[len(estimates) // 2].left_s > 0
    assert estimates[-1].chunks_done == estimates[-1].chunks_total == 4_000
