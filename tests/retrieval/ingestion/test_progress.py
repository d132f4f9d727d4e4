"""Laws of what an ingestion says of itself: all that is still to do counts, the storing at the end too."""

import itertools

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.ingestion import ingest, job
from hocket_retrieval.ingestion.job import Job
from hocket_retrieval.ingestion.waiting import Queued
from hocket_retrieval.stores.records import TAKEN_IN


class Clock:
    """Goes on when it is said."""

    def __init__(self):
        self.now_s = 0.0

    def perf_counter(self):
        return self.now_s


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(job, "time", clock)
    return clock


def run(clock, sizes, embedding_s, storing_s, part=10):
    """Files of so many chunks, one behind the other; every report, with the moment at which it came."""
    seen = []
    made = Job(lambda progress: seen.append((clock.now_s, progress)))
    files = [Queued(f"/{number}", "", 400 * size) for number, size in enumerate(sizes)]
    made.add(files)
    for file, size in zip(files, sizes, strict=True):
        made.on_open(file, size)
        for done in range(0, size, part):
            clock.now_s += embedding_s * min(part, size - done)
            made.embedded(min(part, size - done))
            made.advance(file.name)
        with made.storing(file.name, size) as on_stored:
            for done in range(0, size, part):
                clock.now_s += storing_s * min(part, size - done)
                on_stored(min(done + part, size))
        made.closed(file, unread=False)
        made.advance(file.name)
    return seen


@pytest.mark.parametrize("storing_s", [0.001, 0.1, 10.0])
def test_once_both_paces_are_known_the_estimate_is_right(clock, storing_s):
    """Whichever of the two takes longer: to the second when each chunk takes as long as the one before."""
    seen = run(clock, [100, 400, 50, 1_000], 0.1, storing_s)
    end_s = clock.now_s
    known = [(now_s, progress) for now_s, progress in seen if progress.files_done]
    assert len(known) > 100
    for now_s, progress in known:
        assert progress.left_s == pytest.approx(end_s - now_s, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("storing_s", [0.001, 1.0])
def test_the_storing_of_a_single_file_is_foreseen_and_counted_down(clock, storing_s):
    """Even before anything is known of it there is something left; then it is told to the second."""
    seen = run(clock, [1_000], 0.1, storing_s)
    end_s = clock.now_s
    embedded = [(now_s, progress) for now_s, progress in seen if progress.chunks_done == 1_000]
    assert embedded[0][1].left_s > 0
    storing = [(now_s, progress) for now_s, progress in embedded if now_s > embedded[0][0]]
    assert len(storing) >= 100
    for now_s, progress in storing:
        assert progress.left_s == pytest.approx(end_s - now_s, rel=1e-6, abs=1e-6)
    assert seen[-1][1].left_s == 0


def test_what_is_not_stored_in_the_end_is_left_to_nobody(clock):
    """A file that was removed meanwhile, or whose vectors are gone."""
    seen = []
    made = Job(seen.append)
    made.add([Queued("/a", "", 400)])
    made.on_open(Queued("/a", "", 400), 10)
    clock.now_s += 1
    made.embedded(10)
    with pytest.raises(ValueError, match="gone"), made.storing("/a", 10):
        raise ValueError("gone")
    assert seen[-1].left_s == 0


def test_a_large_file_is_stored_part_by_part_before_everyones_eyes(tmp_path, toys, monkeypatch):
    """Behind the last vector its name is told again and again, and at the last report all is in the store."""
    monkeypatch.setattr(ingest, "BATCH_CHUNKS", 1_000)
    file, seen = tmp_path / "large.txt", []
    file.write_text(" ".join(f"Sentence {n} of the large file is here." for n in range(4 * TAKEN_IN)))
    with Collection(tmp_path / "state", toys(dimension=8), chunk_words=8) as collection:
        report = collection.ingest([file], seen.append)
    assert report.chunks == 4 * TAKEN_IN
    storing = [progress for progress in seen if progress.chunks_done == report.chunks]
    assert len(storing) >= 4
    assert {progress.name for progress in storing} == {str(file)}
    assert all(progress.left_s > 0 for progress in storing[:4])
    assert all(one.chunks_done <= other.chunks_done for one, other in itertools.pairwise(seen))
    assert storing[-1].left_s == 0
