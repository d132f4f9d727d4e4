"""Shared fixtures: a real, tiny, randomly initialised language model that any test can load."""

from __future__ import annotations

import functools
import gc
import os
import random
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpcore2
import late
import pytest
import structlog
import tiny_gguf
import torch
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from hocket_daemon.engine.backends.format_choice import has_floats
from hocket_daemon.engine.catalog.catalogue import CATALOGUE
from hocket_daemon.engine.catalog.store import place

MODEL = pytest.StashKey[Path | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What finds a race: another order, and messages that come late."""
    parser.addoption("--model", default="", help="a model for tests of running pairs in place of the untrained ones")
    parser.addoption("--shuffle", type=int, help="run files, and the tests of each, in the order that this seed gives")
    parser.addoption("--late", default="", help="let some messages wait on the bus, drawn from this seed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The running pair comes last, as programs last of all: by then its parts are known to work.

    Several test processes take it first of all: it is the longest work, and none is left alone with it at the end.
    """
    if (seed := config.getoption("--shuffle")) is not None:
        shuffle(items, random.Random(seed))
        return
    items.sort(
        key=lambda item: ("programs" in item.keywords, "pair" in item.path.parts),
        reverse=hasattr(config, "workerinput"),
    )


def shuffle(items: list[pytest.Item], chance: random.Random) -> None:
    """A file's tests stay together, since they share what they start."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    groups = list(files.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    items[:] = [item for group in groups for item in group]


def pytest_configure(config: pytest.Config) -> None:
    """The same examples everywhere, however slow the machine is, and whichever modules other tests have loaded.

    hypothesis takes the constants of all local modules that are loaded as examples, and parses each of them. A suite
    started in the background ignores Ctrl-C, and so would every command that a test interrupts.
    """
    gc.disable()  # until all tests are collected: little is let go of before
    settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("fixed")
    none = providers._local_constants
    providers._get_local_constants = lambda: none
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = config.getoption("--model")
    config.stash[MODEL] = place(model) if model in CATALOGUE else Path(model) if model else None
    if model in CATALOGUE and not has_floats(place(model)):
        raise pytest.UsageError(f"the tests mean float weights: hocket model get {model} --float")
    os.environ["HOCKET_MODELS"] = os.devnull  # the suite sings with the bundled models, whatever this machine has
    if seed := config.getoption("--late"):
        late.begin(seed)


def save_tiny_model(folder: Path, *, seed: int, words: int = 400, layers: int = 2) -> Path:
    """A Llama of about 100,000 parameters with a byte-level BPE tokenizer, saved in `folder`."""
    rng = random.Random(words)
    text = " ".join("".join(rng.choice("abdeiklmnorstu") for _ in range(rng.randint(2, 7))) for _ in range(3000))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words,
        special_tokens=["<|bos|>", "<|eos|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|bos|>", eos_token="<|eos|>")
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(fast) + 5,  # a padded tail, as many published models have
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=0.4,  # spread distributions that still differ between prefixes
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of the test's own, gone afterwards. pytest's path is too long for sockets, at times."""
    with tempfile.TemporaryDirectory(prefix="hk", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def published_model(pytestconfig: pytest.Config) -> Path | None:
    """The folder that `--model` names, if it does."""
    folder = pytestconfig.stash[MODEL]
    if folder and not folder.is_dir():
        pytest.skip(f"{folder.name} is not on this machine: hocket model get {folder.name}")
    return folder


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory, published_model: Path | None) -> dict[str, Path]:
    """A folder per side: same tokenizer, other weights; and one with another tokenizer. Or `--model` on both sides."""
    if published_model:
        return {"device": published_model, "cloud": published_model}
    base = tmp_path_factory.mktemp("models")
    return {
        "device": save_tiny_model(base / "device", seed=1),
        "cloud": save_tiny_model(base / "cloud", seed=2, layers=3),
        "stranger": save_tiny_model(base / "stranger", seed=3, words=300),
    }


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled device model in float32 as a GGUF file, in a folder of its own."""
    file = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_gguf.write(file)
    return file


@pytest.fixture(scope="session", autouse=True)
def _models_load_in_turn() -> Iterator[None]:
    """Tests run several daemons in one process, on threads. transformers puts `tie_weights` aside while it loads.

    Two loads at once can put it back in the wrong order, and no model with tied weights loads from then on.
    """
    loading, load = threading.Lock(), PreTrainedModel.from_pretrained.__func__

    def in_turn(cls: type[PreTrainedModel], /, *arguments: object, **options: object) -> object:
        with loading:
            return load(cls, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PreTrainedModel, "from_pretrained", classmethod(in_turn))
        yield


@pytest.fixture(scope="session", autouse=True)
def _authorities_are_read_once() -> Iterator[None]:
    """Each client of HTTP reads the certificates of all authorities, which takes longer than most questions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", functools.cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _daemons_leave_the_process_as_it_is() -> Iterator[None]:
    """A program's process is its own. Here daemons are threads of one that goes on: what they did to it would stay.

    They keep for good what is loaded when they start, which is what earlier tests left, too; and a retrieval daemon
    gives way to all others, which from then on every test would do, and whatever it starts.
    """
    with pytest.MonkeyPatch.context() as patch:
        gc.freeze()
        gc.enable()
        patch.setattr(gc, "freeze", lambda: None)
        patch.setattr("hocket_retrieval.service.daemon.give_way", lambda: None)
        yield


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Programs that a test runs set logging up for their own process; the next test must not feel it."""
    yield
    structlog.reset_defaults()
