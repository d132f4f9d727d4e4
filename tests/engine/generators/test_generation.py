"""The laws of one side's text: the ids are those of decoding alone, the end comes once, and no row stays behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from fake_model import EOS, FakeModel
from mainthread import MainThread
from numpy.typing import NDArray

from exact import exact
from hocket_bus.errors import BadRequest, Busy, HocketError
from hocket_bus.messages import Finish, Sampling
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.generators.generation import Generated, Generation
from hocket_daemon.engine.generators.generator import LocalGenerator, TextGenerator, TextRequest
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.compute import Compute
from hocket_daemon.engine.runtime.sequences import read_prompt
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.text.detokenizer import Detokenizer, Transcript
from waiting import WAIT_S, until

MASS = 0.98
SLOTS = 6
TOKENS = 24
GREEDY = Rule(seed=0, temperature=0.0, top_p=1.0)
PROMPTS = ["kala mira", "duno soretu limba tano meku relado sina", "borita", "kulo namira ditu sola pemi " * 3]


@dataclass
class World:
    """A model, its compute thread, and this thread as the main one."""

    model: LanguageModel
    compute: Compute
    main: MainThread

    def begin(self, prompt: str | list[int], rule: Rule = GREEDY, **options: object) -> Heard:
        return Heard.of(self, prompt, rule, **options)  # type: ignore[arg-type]

    def end(self, *begun: Heard) -> None:
        self.main.until(lambda: all(each.ends for each in begun))
        self.main.settle(self.compute)

    @property
    def is_empty(self) -> bool:
        """Whether every row is free."""
        rows = self.model.slots.take(SLOTS)
        self.model.slots.give_back(rows)
        return len(rows) == SLOTS


@dataclass
class Heard:
    """What a generation calls back, and where."""

    ids: list[int] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    ends: list[Generated | HocketError] = field(default_factory=list)
    generation: Generation | None = None
    cancel_at: int = -1

    @classmethod
    def of(
        cls,
        world: World,
        prompt: str | list[int],
        rule: Rule,
        *,
        tokens: int = TOKENS,
        stop: Sequence[str] = (),
        eos: Sequence[int] = (),
        cancel_at: int = -1,
    ) -> Heard:
        heard = cls(cancel_at=cancel_at)
        ids = world.model.prompt(prompt, "complete") if isinstance(prompt, str) else prompt
        heard.generation = Generation(
            world.compute,
            read_prompt(world.model, ids, tokens),
            rule,
            MASS,
            Transcript(Detokenizer(world.model.text, stop), eos, tokens),
            on_token=heard.on_token,
            on_end=heard.on_end,
        )
        return heard

    def on_token(self, token: int, piece: str) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert not self.ends
        self.ids.append(token)
        self.fragments.append(piece)
        if len(self.ids) == self.cancel_at:
            self.cancel()

    def on_end(self, end: Generated | HocketError) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.ends.append(end)

    def cancel(self) -> None:
        assert self.generation is not None
        self.generation.cancel()

    @property
    def generated(self) -> Generated:
        """How it ended, which was once and without an error."""
        (end,) = self.ends
        assert isinstance(end, Generated)
        assert end.ids == self.ids
        assert end.text == "".join(self.fragments) or end.finish == "cancelled"
        return end

    @property
    def error(self) -> HocketError:
        (end,) = self.ends
        assert isinstance(end, HocketError)
        return end


def tiny(models: dict[str, Path], side: str) -> TransformersModel:
    name = str(models[side])
    return TransformersModel(exact(name=name, slots=SLOTS, context=400, prefill_tokens=9), "device")


@pytest.fixture(scope="module")
def read_by_transformers(tiny_models: dict[str, Path]) -> TransformersModel:
    return tiny(tiny_models, "device")


@pytest.fixture(params=["fake", "transformers"])
def world(request: pytest.FixtureRequest, read_by_transformers: TransformersModel) -> Iterator[World]:
    model: LanguageModel = FakeModel(slots=SLOTS, context=400) if request.param == "fake" else read_by_transformers
    main = MainThread()
    with main.compute(model) as compute:
        yield World(model, compute, main)


@pytest.fixture
def fake() -> Iterator[World]:
    main, model = MainThread(), FakeModel(slots=SLOTS, context=400)
    with main.compute(model) as compute:
        yield World(model, compute, main)


def decoded_alone(
    model: LanguageModel, prompt: str, draw: Callable[[int, NDArray[np.float32]], int], tokens: int = TOKENS
) -> list[int]:
    """Token by token with the model's `read` and nothing else."""
    rows = model.slots.take(1)
    (behind,) = model.read([Segment(rows, [model.prompt(prompt, "complete")])])
    ids: list[int] = []
    while len(ids) < tokens:
        ids.append(draw(len(ids), behind.probabilities[0]))
        (behind,) = model.read([Segment(rows, [ids[-1:]])])
    model.slots.give_back(rows)
    return ids


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_greedy_generation_is_the_likeliest_token_at_every_step(world: World, prompt: str) -> None:
    """As decoding step by step alone gives it, on a model that does nothing else."""
    expected = decoded_alone(world.model, prompt, lambda _, behind: int(behind.argmax()))
    heard = world.begin(prompt)
    world.end(heard)
    assert heard.generated == Generated("length", expected, world.model.text(expected).rstrip("\ufffd"))
    assert world.is_empty


def test_generations_beside_others_give_the_ids_that_they_give_alone(world: World) -> None:
    """Several prompts, temperatures and lengths at once, some begun while others decode."""
    rules = [Rule(7, 1.0, 1.0), GREEDY, Rule(9, 0.7, 0.9), Rule(9, 1.0, 1.0)]
    lengths = [TOKENS, TOKENS // 2, TOKENS, 5]
    terms = list(zip(PROMPTS, rules, lengths, strict=True))
    alone = []
    for prompt, rule, tokens in terms:
        heard = world.begin(prompt, rule, tokens=tokens)
        world.end(heard)
        alone.append(heard.generated)
    batches = world.compute.batches

    first = [world.begin(prompt, rule, tokens=tokens) for prompt, rule, tokens in terms[:2]]
    world.main.until(lambda: len(first[0].ids) == 3)
    begun = first + [world.begin(prompt, rule, tokens=tokens) for prompt, rule, tokens in terms[2:]]
    world.end(*begun)
    assert [each.generated for each in begun] == alone
    assert world.compute.batches - batches < sum(lengths)  # they did share passes
    assert world.is_empty


def test_a_seed_decides_every_token(world: World) -> None:
    """By the noise that both sides share: as the race over what travels, drawn by hand."""
    rule, prompt = Rule(11, 1.0, 0.95), PROMPTS[1]
    expected = decoded_alone(world.model, prompt, lambda step, behind: sample(rule, step, truncate(behind, MASS)))
    begun = [world.begin(prompt, rule), world.begin(prompt, rule), world.begin(prompt, Rule(12, 1.0, 0.95))]
    world.end(*begun)
    assert begun[0].ids == begun[1].ids == expected
    assert begun[2].ids != expected


@pytest.mark.parametrize("at", range(TOKENS))
def test_a_generation_that_is_cancelled_frees_its_row_and_is_heard_no_more(world: World, at: int) -> None:
    """At any token, while another one goes on; at 0 before anything was read."""
    other = world.begin(PROMPTS[0])
    heard = world.begin(PROMPTS[1], cancel_at=at)
    if at == 0:
        heard.cancel()
        assert heard.ends
    world.end(heard, other)
    heard.cancel()
    assert heard.generated.finish == "cancelled"
    assert len(heard.ids) == at
    assert len(other.generated.ids) == TOKENS
    assert world.is_empty


@pytest.mark.parametrize("passes", range(8))
@pytest.mark.parametrize("beside_another", [False, True])
def test_a_generation_that_is_cancelled_within_a_pass_frees_its_row(
    fake: World, passes: int, beside_another: bool
) -> None:
    """While the compute thread reads its prompt or decodes, in a pass that is interrupted or goes on for another."""
    within, go_on = threading.Event(), threading.Event()
    inner, model = fake.model.read, fake.model
    assert isinstance(model, FakeModel)

    def read(segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        if len(model.passes) == passes:
            fake.main.post(within.set)
            assert go_on.wait(WAIT_S)
        return inner(segments, interrupt)

    fake.compute._read = read
    other = [fake.begin("tano", tokens=40)] if beside_another else []
    heard = fake.begin("kala mira duno " * 2, tokens=40)
    fake.main.until(within.is_set)
    heard.cancel()
    heard_of = len(heard.ids)
    go_on.set()
    fake.end(*other)
    assert heard.generated.finish == "cancelled"
    assert len(heard.ids) == heard_of
    assert fake.is_empty


def test_a_generation_that_is_cancelled_before_it_hears_that_its_prompt_is_read_frees_its_row(fake: World) -> None:
    """The compute thread is done with the prompt, and has told; nobody has listened yet."""
    heard = fake.begin("kala mira")
    until(lambda: not fake.compute.waiting)
    heard.cancel()
    fake.main.settle(fake.compute)
    assert heard.generated == Generated("cancelled", [], "")
    assert fake.is_empty


@pytest.mark.parametrize("at", [0, 3, 11, TOKENS - 2])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_nothing_from_a_stop_string_on_is_ever_heard(world: World, at: int, length: int) -> None:
    """The text is what stands before the first place where the string is complete."""
    whole = world.begin(PROMPTS[2])
    world.end(whole)
    text = whole.generated.text
    stop = text[at : at + length]
    heard = world.begin(PROMPTS[2], stop=[stop, "never there"])
    world.end(heard)
    assert heard.generated.finish == "stop"
    assert heard.generated.text == text[: text.index(stop)]
    assert stop not in "".join(heard.fragments)
    assert world.is_empty


def test_an_eos_id_ends_the_text(world: World) -> None:
    """It is the last id, and no text."""
    whole = world.begin(PROMPTS[0])
    world.end(whole)
    eos = whole.ids[9]
    heard = world.begin(PROMPTS[0], eos=[eos])
    world.end(heard)
    end = whole.ids.index(eos) + 1
    assert heard.generated == Generated("eos", whole.ids[:end], world.model.text(whole.ids[: end - 1]).rstrip("\ufffd"))


def test_a_prompt_that_does_not_fit_is_refused_with_what_to_do(world: World) -> None:
    """So is an empty one; the longest that fits is not."""
    heard = [world.begin([5] * (400 - TOKENS + 1)), world.begin([]), world.begin([5] * (400 - TOKENS))]
    world.end(*heard)
    for refused, remedy in zip(heard[:2], ("shorten the prompt or lower max_tokens", "write the"), strict=True):
        assert isinstance(refused.error, BadRequest)
        assert remedy in refused.error.remedy
        assert not refused.ids
    assert len(heard[2].generated.ids) == TOKENS
    assert world.is_empty


def test_a_full_model_refuses_and_serves_again(world: World) -> None:
    """One row each: the next one is told that the model is busy, and those that run are not disturbed."""
    running = [world.begin(PROMPTS[0]) for _ in range(SLOTS)]
    refused = world.begin(PROMPTS[0])
    world.end(*running, refused)
    assert isinstance(refused.error, Busy)
    assert {tuple(each.generated.ids) for each in running} == {tuple(running[0].ids)}
    again = world.begin(PROMPTS[0])
    world.end(again)
    assert again.ids == running[0].ids


@pytest.mark.parametrize("passes", range(6))
def test_a_pass_that_fails_ends_what_is_in_it_once_and_frees_its_rows(fake: World, passes: int) -> None:
    """While a prompt is read, or while two decode; a later generation is served."""
    model, inner = fake.model, fake.model.read
    assert isinstance(model, FakeModel)

    def read(segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        if len(model.passes) == passes:
            model.passes.append([])
            raise MemoryError("no more")
        return inner(segments, interrupt)

    fake.compute._read = read
    begun = [fake.begin("kala mira duno " * 2), fake.begin("tano")]
    fake.end(*begun)
    failed = [each for each in begun if isinstance(each.ends[0], HocketError)]
    assert failed
    assert all("no more" in each.error.text and each.error.remedy for each in failed)
    later = fake.begin("meku")
    fake.end(later)
    assert len(later.generated.ids) == TOKENS
    assert fake.is_empty


@pytest.mark.slow
def test_two_models_in_one_process_write_at_once_as_each_does_alone(tiny_models: dict[str, Path]) -> None:
    """Other weights, other tokens, another number of threads: nothing of the engine is shared between them."""
    main, rule = MainThread(), Rule(5, 1.0, 1.0)
    models = [tiny(tiny_models, "device"), tiny(tiny_models, "stranger")]
    assert models[0].fingerprint != models[1].fingerprint
    with main.compute(models[0]) as first, main.compute(models[1]) as second:
        worlds = [World(models[0], first, main), World(models[1], second, main)]
        alone = []
        for world in worlds:
            for prompt in PROMPTS[:3]:
                heard = world.begin(prompt, rule, tokens=60)
                world.end(heard)
                alone.append(heard.generated)
        begun = [world.begin(prompt, rule, tokens=60) for world in worlds for prompt in PROMPTS[:3]]
        main.until(lambda: all(each.ends for each in begun))
        assert [each.generated for each in begun] == alone
        for world in worlds:
            main.settle(world.compute)
            assert world.is_empty


def test_a_local_generator_streams_text_and_says_once_why_it_ended(world: World) -> None:
    """No piece is empty; the pieces are the text of what a generation draws from the laid-out prompt."""
    generator: TextGenerator = LocalGenerator(world.model, world.compute, MASS)
    sampling = Sampling(temperature=1.0, top_p=1.0, seed=3, max_tokens=TOKENS)
    fragments: list[str] = []
    ends: list[Finish | HocketError] = []
    generator.generate(TextRequest("kala mira?", sampling), fragments.append, ends.append)
    ids = world.model.prompt("kala mira?", "answer")
    expected = world.begin(ids, Rule(3, 1.0, 1.0), eos=world.model.eos)
    world.main.until(lambda: bool(ends))
    world.end(expected)
    assert ends == [expected.generated.finish]
    assert "".join(fragments) == expected.generated.text.lstrip()
    assert all(fragments)


def test_a_local_generator_that_is_cancelled_or_cannot_begin_says_so_once(world: World) -> None:
    """Errors come as ends, never as exceptions of `generate`."""
    generator: TextGenerator = LocalGenerator(world.model, world.compute, MASS)
    ends: list[Finish | HocketError] = []
    fragments: list[str] = []
    generator.generate(TextRequest("kala", Sampling(max_tokens=400)), fragments.append, ends.append)
    world.main.until(lambda: bool(ends))
    assert isinstance(ends[0], BadRequest)
    running = generator.generate(TextRequest("kala", Sampling(max_tokens=300)), fragments.append, ends.append)
    world.main.until(lambda: len(ends) > 1 or "".join(fragments) != "")
    heard = list(fragments)
    running.cancel()
    running.cancel()
    world.main.settle(world.compute)
    assert len(ends) == 2
    assert ends[1] in ("cancelled", "eos")
    assert fragments == heard
    assert world.is_empty


@pytest.mark.parametrize("at", [1, 7, TOKENS - 1])
def test_a_local_model_goes_on_from_a_prefix(fake: World, at: int) -> None:
    """With a token for each character the whole text is the prefix and what comes behind it, blanks and all."""
    generator: TextGenerator = LocalGenerator(fake.model, fake.compute, MASS)
    assert generator.continues
    texts = []
    for prefix, tokens in (("", TOKENS), (None, TOKENS - at)):
        fragments: list[str] = []
        ends: list[Finish | HocketError] = []
        sampling = Sampling(temperature=0.0, max_tokens=tokens)
        written = texts[0][:at] if prefix is None else prefix
        generator.generate(TextRequest("kala", sampling, "complete", prefix=written), fragments.append, ends.append)
        fake.main.until(lambda: bool(ends))  # noqa: B023 - it is over before the next round
        texts.append(written + "".join(fragments))
    assert texts[1] == texts[0]
    fake.main.settle(fake.compute)
    assert fake.is_empty


def test_the_end_of_a_fake_model_is_drawn_sooner_or_later() -> None:
    """So that tests of ends need no luck: among some seeds one ends by itself."""
    finishes = set()
    main, model = MainThread(), FakeModel(slots=SLOTS, context=400)
    with main.compute(model) as compute:
        world = World(model, compute, main)
        for seed in range(6):
            heard = world.begin("kala", Rule(seed, 1.0, 1.0), tokens=200, eos=[EOS])
            world.end(heard)
            finishes.add(heard.generated.finish)
            assert (heard.ids[-1] == EOS) == (heard.generated.finish == "eos")
    assert "eos" in finishes


def test_the_reference_draws_what_a_model_says() -> None:
    """The fake's likeliest token is that of its distribution."""
    model = FakeModel()
    first = decoded_alone(model, "ka", lambda _, behind: int(behind.argmax()), tokens=1)
    assert first == [int(np.argmax(model.distribution(model.prompt("ka", "complete"))))]
