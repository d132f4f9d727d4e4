"""The laws of reading ahead: whatever is proposed, and however much, tokens, rows and counts are those without."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from copier import Copier
from fake_model import EOS, FIRST
from llama_here import needs_llama
from mainthread import MainThread

from exact import exact
from hocket_bus.messages import Finish, Prompt
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.generators.generation import Generated, Generation
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.compute import Decoded, DecodeRequest, decode
from hocket_daemon.engine.runtime.copying import DEPTH, MOST, proposal, worth
from hocket_daemon.engine.runtime.lookup import Lookup
from hocket_daemon.engine.runtime.pass_costs import FEW, LEAST, MANY, TOLD, PassCosts
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read, read_prompt
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import Heads, contrast_of, made
from hocket_daemon.engine.text.detokenizer import Detokenizer, Transcript

ROOM = 40
SLOTS = 8
RULES = (Rule(3, 0.0, 1.0), Rule(7, 0.7, 0.9))
WORDS = ["Ada", "Merrow", "1871", "harbour", "of", "Kelmar", "was", "the", "in", "12.4", "May"]


def told(rng: random.Random, words: int) -> str:
    """A text of few words, which comes back to them."""
    return " ".join(rng.choice(WORDS) for _ in range(words))


def opened(model: LanguageModel, rng: random.Random, passages: int, *, alone: bool = False) -> SequenceGroup:
    texts, prompt = [told(rng, 15) for _ in range(passages)], Prompt(query=told(rng, 4))
    return at_once(model, read(model, prompt, texts, task="answer", room=ROOM, alone=alone))


def behind(
    model: LanguageModel, group: SequenceGroup, tokens: list[int], share: float, interrupt: Interrupt | None = None
) -> Decoded[Heads]:
    """What follows `tokens`, decoded as the compute thread does where tokens are that `share` of a pass."""
    request = DecodeRequest(group, list(tokens), lambda heads: heads, interrupt or Interrupt())
    return decode(model.read, [request], request.interrupt, share=lambda _: share)[0][0]


def written(
    model: LanguageModel, group: SequenceGroup, rule: Rule, share: Callable[[], float], *, contrast: float = 0.0
) -> tuple[list[int], int]:
    """An answer, and how many tokens were read for it beside one of each row a step."""
    rows, ids, repeated = len(group.rows) - bool(contrast), list[int](), 0
    weights = [(at + 1) / sum(range(rows + 1)) for at in range(rows)] if rows > 1 or contrast else []
    against = contrast_of(contrast, model.eos, rows, step=1)
    while len(ids) < ROOM and ids[-1:] != [EOS]:
        found = behind(model, group, ids, share())
        repeated += found.repeated
        ids.append(sample(rule, len(ids), made(found.value, weights, 0.98, against).distribution))
    return ids, repeated


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("passages", "contrast"), [(0, 0.0), (1, 0.0), (3, 0.0), (2, 0.5)])
def test_ids_are_those_of_reading_token_by_token(rule: Rule, passages: int, contrast: float) -> None:
    """Over random passages, at any cost of a token, also one that changes from step to step; and passes are saved."""
    saved = 0
    for seed in range(12):
        plain, _ = written(*fresh(seed, passages, contrast), rule, lambda: 1.0, contrast=contrast)
        rng = random.Random(seed)
        for share in (lambda: LEAST, lambda: 0.2, lambda rng=rng: rng.choice((LEAST, 0.1, 0.4, 1.0))):
            model, group = fresh(seed, passages, contrast)
            before = len(model.passes)
            ids, _ = written(model, group, rule, share, contrast=contrast)
            assert ids == plain
            saved += len(ids) - (len(model.passes) - before)
    assert saved > 12 * 3


def fresh(seed: int, passages: int, contrast: float) -> tuple[Copier, SequenceGroup]:
    model = Copier(seed, slots=SLOTS, context=400)
    return model, opened(model, random.Random(seed), passages, alone=bool(contrast))


def test_rows_roll_back_as_if_nothing_had_been_read_ahead() -> None:
    """Behind any step they can be made what they hold of the prompt and the answer, and no more."""
    for seed in range(8):
        model, group = fresh(seed, 2, 0.0)
        ids, _ = written(model, group, RULES[0], lambda: LEAST)
        for length in (len(ids), len(ids) // 2, 1, 0):
            group.roll_back(ids[:length])
            fed = ids[: max(0, length - 1)]  # the last token is read again
            assert [model.slots.held[row] for row in group.rows] == [[*prompt, *fed] for prompt in group.prompts]


def test_tokens_that_are_read_are_counted() -> None:
    """One of each row a step, and what is repeated: together as many as the model has read."""
    for seed in range(8):
        model, group = fresh(seed, 3, 0.0)
        before = model.tokens_read
        ids, repeated = written(model, group, RULES[0], lambda: 0.05)
        assert model.tokens_read - before == (len(ids) - 1) * len(group.rows) + repeated  # the first is the prompt's


@pytest.fixture(params=["copier", "transformers", pytest.param("gguf", marks=needs_llama)])
def model(request: pytest.FixtureRequest, tiny_models: dict[str, Path], gguf_file: Path) -> LanguageModel:
    settings = exact(name=str(tiny_models["device"]), slots=SLOTS, context=400)
    makers: dict[str, Callable[[], LanguageModel]] = {
        "copier": lambda: Copier(slots=SLOTS, context=400),
        "transformers": lambda: TransformersModel(settings, "device"),
        "gguf": lambda: GGUFModel(exact(slots=SLOTS, context=400), gguf_file),
    }
    return makers[request.param]()


def test_what_is_known_of_any_branch_is_what_a_fresh_pass_reads(model: LanguageModel) -> None:
    """Answers that go along what was proposed, leave it or come back to earlier tokens, and interrupted passes."""
    rng = random.Random(2)
    model.reads_ahead = True  # type: ignore[misc]
    group, other = (opened(model, random.Random(5), 2) for _ in range(2))
    text, answer, known = group.prompts[0], list[int](), 0
    for _ in range(60):
        if rng.random() < 0.15 or len(answer) > ROOM - 8:
            answer = answer[: rng.randrange(len(answer) + 1)]
        at = rng.randrange(len(text) - 4)
        answer = [*answer, *(text[at : at + rng.randint(1, 4)] if rng.random() < 0.6 else [rng.randrange(FIRST, 90)])]
        for end in range(max(1, len(answer) - 3), len(answer) + 1):
            if rng.random() < 0.2:
                interrupted(model, group, answer[:end])
            found = behind(model, group, answer[:end], 0.05)
            known += found.repeated < 0
            expected = behind(model, other, answer[:end], 1.0).value
            np.testing.assert_allclose(found.value.dense(model.vocabulary), expected.dense(model.vocabulary), atol=1e-5)
    assert known > 10


def interrupted(model: LanguageModel, group: SequenceGroup, tokens: Sequence[int]) -> None:
    stop = Interrupt()
    stop.set()
    with suppress(Preempted):  # none is made where it is known
        behind(model, group, list(tokens), 0.05, stop)


def test_a_full_row_is_not_read_beyond_its_end() -> None:
    """Up to the last token of the context there are answers, and no error."""
    for seed in range(8):
        model = Copier(seed, slots=1, context=30)
        group = at_once(model, read_prompt(model, [FIRST + 1 + at % 18 for at in range(20)], 10))
        ids = list[int]()
        while len(ids) < 10:
            found = behind(model, group, ids, LEAST).value
            ids.append(sample(RULES[0], len(ids), made(found, [], 1.0).distribution))
        assert len(model.passes) < 9  # much was read ahead


@pytest.mark.parametrize("rule", RULES)
def test_texts_end_where_they_end_without(rule: Rule) -> None:
    """At an end of the model's, a stop string, the last token, or when cancelled; nothing is called back behind it."""
    prompt = [FIRST + 1 + at % 7 for at in range(80)]
    text = Copier().text(prompt)
    ends = set[Finish]()
    for stop, eos, tokens, cancel_at in (
        ((), [], 24, -1), ((text[10:13],), [], 24, -1), ((), [prompt[5]], 24, -1), ((), [], 7, -1), ((), [], 24, 9),
    ):  # fmt: skip
        found = [generated(rule, prompt, stop, eos, tokens, cancel_at, ahead=ahead) for ahead in (False, True)]
        assert found[0] == found[1]
        ends.add(found[0].finish)
    assert ends == {"length", "stop", "eos", "cancelled"}


def generated(
    rule: Rule, prompt: list[int], stop: Sequence[str], eos: Sequence[int], tokens: int, cancel_at: int, *, ahead: bool
) -> Generated:
    model, main, ends, heard = Copier(slots=2, context=200), MainThread(), list[object](), list[int]()
    model.reads_ahead = ahead

    def on_token(token: int, _: str) -> None:
        assert not ends
        heard.append(token)
        if len(heard) == cancel_at:
            writing.cancel()

    with main.compute(model) as compute:
        warmed(compute._costs)
        writing = Generation(
            compute,
            read_prompt(model, prompt, tokens),
            rule,
            0.98,
            Transcript(Detokenizer(model.text, stop), eos, tokens),
            on_token=on_token,
            on_end=ends.append,
        )
        main.until(lambda: bool(ends))
        main.settle(compute)
        assert (compute.copied > 0) == ahead
        assert len(model.slots.free) == 2
    (end,) = ends
    assert isinstance(end, Generated)
    assert end.ids == heard
    return end


def warmed(costs: PassCosts) -> None:
    for _ in range(3):
        costs.observe(1, 1.0)
    costs.observe(10_000, 200.0)


def test_a_proposal_is_what_followed_the_longest_like_end() -> None:
    """Found by comparing all places: the last of those that are alike longest, up to the end of its text."""
    rng = random.Random(4)
    for _ in range(300):
        texts = [[rng.randrange(4) for _ in range(rng.randrange(12))] for _ in range(rng.randrange(4))]
        answer = [rng.randrange(3) for _ in range(rng.randint(1, 12))]  # no end stands in it
        share = rng.choice((LEAST, 0.1, 0.3, 0.6))
        found = proposal(Lookup(texts, [3]), answer, share)
        places = [(text, at) for text in [*texts, answer] for at in range(1, len(text)) if text[at] != 3]
        longest = max((similar(text, at, answer) for text, at in places), default=0)
        last = next((place for place in reversed(places) if similar(*place, answer) == longest), None)
        expected = last[0][last[1] :] if last is not None and longest else []
        assert found == until_end(expected, 3)[: worth(longest, share)]


def similar(text: list[int], at: int, answer: list[int]) -> int:
    limit = min(at, len(answer), DEPTH)
    return next((n for n in range(limit) if text[at - 1 - n] != answer[-1 - n]), limit)


def until_end(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids


def test_more_is_worth_reading_where_more_is_alike_and_tokens_are_cheaper() -> None:
    """Nothing where nothing is alike or a pass is all tokens."""
    shares = [LEAST, 0.05, 0.1, 0.2, 0.5, 0.9, 1.0]
    for share in shares:
        rising = [worth(n, share) for n in range(DEPTH + 1)]
        assert rising == sorted(rising)
        assert rising[0] == 0
        assert rising[-1] <= MOST
    for n in range(1, DEPTH + 1):
        falling = [worth(n, share) for share in shares]
        assert falling == sorted(falling, reverse=True)
        assert falling[-1] == 0
    assert worth(DEPTH, LEAST) == MOST


def test_a_share_is_that_of_times_that_grow_with_tokens() -> None:
    """TOLD b tokens of a + b tokens; one pass that was kept waiting moves nothing; at first nothing is known."""
    costs = PassCosts()
    assert costs.share(2) == 1.0
    for tokens in (2, 3, MANY, 128):
        costs.observe(tokens, 0.030 + 0.001 * tokens)
    assert costs.share(2) == pytest.approx(TOLD * 2 / 32)
    assert costs.share(3) == pytest.approx(TOLD * 3 / 33)
    assert costs.share(4) == costs.share(FEW + 1) == 1.0
    costs.observe(2, 0.032)
    costs.observe(2, 9.0)
    assert costs.share(2) == pytest.approx(TOLD * 2 / 32)
    for _ in range(50):
        costs.observe(128, 0.001)  # shorter than a step: LEAST
    assert costs.share(2) == LEAST
