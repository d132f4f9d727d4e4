"""Facts that are nearly alike, all of them remembered: the one that is typed is suggested, and no other one's value."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from mainthread import MainThread
from typing_text import TIE, plain

from exact import exact
from hocket_bus.messages import Takeaway
from hocket_daemon.composition.completer import Completed, Completer
from hocket_daemon.composition.document import Document
from hocket_daemon.composition.memory import Takeaways
from hocket_daemon.composition.settings import CompositionSettings
from hocket_daemon.composition.window import TokenTexts
from hocket_daemon.engine.backends.automatic import resolved
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel

NAMES = ("Marlin", "Osprey", "Curlew", "Plover", "Godwit", "Avocet", "Dunlin")
FORMS = {
    "The toll at the {} Bridge is {} crowns.": "The toll at the {} Bridge is ",
    "{} Varga: 0171 555 {}": "{} Varga can be reached under ",
    "smoked {}: {} crowns": "A pound of smoked {} costs ",
}


class Composed:
    """One text after the other, each with the same memory behind it."""

    def __init__(self, model: TransformersModel, main: MainThread) -> None:
        self.model, self.main = model, main
        self.token_texts = TokenTexts(model)
        self.completed: list[Completed] = []

    def suggested(self, text: str, memory: Takeaways) -> list[Completed]:
        """All that is told of a text until nothing more comes."""
        self.completed.clear()
        with self.main.compute(self.model) as compute:
            completer = Completer(
                compute, self.model, self.token_texts, maximum=15, minimum=CompositionSettings().confidence,
                on_completed=self.completed.append, fail=partial(pytest.fail, "a suggestion failed"),  # type: ignore[arg-type]
            )  # fmt: skip
            document = Document(text, len(text), 0)
            completer.suggest(document)
            completer.renew(document, memory.items, memory.changed_s)
            self.main.settle(compute)
            completer.suggest(document)
            self.main.settle(compute)
            completer.close()
            self.main.settle(compute)
        return self.completed


@pytest.fixture(scope="module")
def composed() -> Composed:
    model = TransformersModel(exact(name=resolved("bundled-composition"), slots=2, context=640), "device")
    return Composed(model, MainThread())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
@pytest.mark.parametrize("line", FORMS)
def test_the_value_of_the_fact_that_is_typed_is_suggested(composed: Composed, line: str, seed: int) -> None:
    """With its document, by the tokens of plain greedy decoding; and never one of another fact's, before or behind."""
    chance = random.Random(seed)
    facts = dict(zip(chance.sample(NAMES, 5), map(str, chance.sample(range(1_102, 1_998), 5)), strict=True))
    memory = Takeaways(200, lambda text: len(composed.model.continued(text)))
    memory.add("cloud", [Takeaway(text=line.format(*fact), document=fact[0]) for fact in facts.items()], 0.0)
    for at, (name, value) in enumerate(facts.items()):
        text = FORMS[line].format(name)
        text = text if at % 2 else text.rstrip()  # with the blank behind the last word, or before it is typed
        told = composed.suggested(text, memory)
        assert all(_numbers(each.text) & set(facts.values()) <= {value} for each in told)
        assert value in _numbers(told[-1].text)
        sources = told[-1].reference.sources(told[-1].written, told[-1].text)
        assert [source.document for source in sources] == [name]
        tokens, lead = plain(composed.model, composed.token_texts, told[-1])
        assert tokens == list(told[-1].path.tokens) or lead < TIE
    for each in composed.suggested(FORMS[line].format("Heron"), memory):
        assert not _numbers(each.text) & set(facts.values())


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))
