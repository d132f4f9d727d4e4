"""Answers that lack what was asked for are told; answers that have it, in any form, never are."""

from __future__ import annotations

import pytest

from hocket_daemon.serving.stream.answer_kind import lacking_kind


@pytest.mark.parametrize(
    ("query", "answer", "lack"),
    [
        ("Who built the Tarn Bridge at Oberlohe?", "The Tarn Bridge at Oberlohe was built in 1934.", "names nobody"),
        ("What colour is the Volvo?", "The Volvo is an old Volvo 240.", "has none"),
        ("Who led the Normans?", "Normans-7 led the Normans.", "names nobody"),
        ("Where is the lease?", "The lease is there.", "names no place"),
        ("How long is the training?", "The training is in Emden, at the harbour.", "no number"),
        ("And when does the ferry leave?", "The ferry leaves from the northern pier.", "no time"),
        ("Wer hat die Brücke gebaut?", "Die Brücke wurde 1934 gebaut.", "names nobody"),
        ("Wie hoch ist der Turm?", "Der Turm steht in Skarholm am Hafen.", "no number"),
        ("Welche Farbe hat der Zaun?", "Der Zaun ist aus Holz.", "has none"),
    ],
)
def test_what_was_asked_for_and_is_not_there_is_told(query: str, answer: str, lack: str) -> None:
    """In one line that says what the question asks."""
    line = lacking_kind(query, answer)
    assert lack in line
    assert line.startswith("the question asks")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Who built the Tarn Bridge?", "The municipality built it."),
        ("Who pays for the trip?", "The parents."),
        ("Where do I stay?", "In Ljubljana."),
        ("How long is the training?", "Eighteen months."),
        ("How many eggs do I need?", "None."),
        ("How old is the house?", "It was built in the fourteenth century."),
        ("When does the ferry leave?", "As soon as it is full."),
        ("When was the roof mended?", "In spring."),
        ("What colour is the fence?", "Dark green."),
        ("Wer zahlt die Miete?", "Der Untermieter."),
        ("Wie lange dauert die Ausbildung?", "Anderthalb Jahre."),
        ("Wann fährt die Fähre?", "Täglich bis zum Herbst."),
        ("Which bridge is longer?", "The bridge."),
        ("When I am in Emden, what do I do?", "You are a pilot."),
        ("Whose keys are these?", "Anna's."),
        ("Who built it?", ""),
        ("誰が橋を建てましたか", "橋"),
    ],
)
def test_an_answer_of_the_right_kind_is_left_alone(query: str, answer: str) -> None:
    """Whatever its form; a question of another form is not judged, nor is an answer without a word."""
    assert lacking_kind(query, answer) == ""
