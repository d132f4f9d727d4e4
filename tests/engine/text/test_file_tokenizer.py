"""A tokenizer that is read without transformers says what transformers says, of any text and any conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import hocket_models
from hocket_bus.messages import Prompt, Task
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_daemon.engine.text.chat_template import DAY, rendered
from hocket_daemon.engine.text.file_tokenizer import FileTokenizer
from hocket_daemon.engine.text.tokenizer import Worded, fingerprint

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}\n  <|{{ message['role'] }}|>{{ message['content'] | trim }}"
    "{% if loop.last and add_generation_prompt %}\n    <|assistant|>{% endif %}{% endfor %}"
)
TASKS: tuple[Task, ...] = ("answer", "complete")
Both = tuple[Worded, Worded]


@pytest.fixture(scope="module", params=["bundled", "chat", "smollm2"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Read from one folder, by transformers and without."""
    folder = Path(hocket_models.path("device"))
    if request.param == "smollm2":
        if not is_installed("smollm2"):
            pytest.skip("smollm2 is not on this machine: hocket model get smollm2")
        folder = place("smollm2")
    theirs = AutoTokenizer.from_pretrained(folder)
    if request.param == "chat":
        folder = tmp_path_factory.mktemp("chat")
        theirs.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|assistant|>"]})
        theirs.chat_template = TEMPLATE
        theirs.save_pretrained(folder)
        theirs = AutoTokenizer.from_pretrained(folder)
    return Worded(FileTokenizer(folder)), Worded(theirs)


@given(text=st.text(max_size=60), question=st.text(max_size=30))
def test_prompts_are_the_same_ids_and_ids_the_same_text(both: Both, text: str, question: str) -> None:
    ours, theirs = both
    assert ours.continued(text) == (ids := theirs.continued(text))
    assert ours.text(ids) == theirs.text(ids)
    for task in TASKS:
        assert ours.prompt(text, task) == theirs.prompt(text, task)
        mine, other = ours.layout(task), theirs.layout(task)
        assert mine.document(text) == other.document(text)
        assert mine.question(Prompt(query=question)) == other.question(Prompt(query=question))


@given(text=st.sampled_from(["<|user|>", "<|im_start|>", "</s>", "<s>", "<unk>"]))
def test_names_of_added_tokens_in_a_text_are_spelled_the_same(both: Both, text: str) -> None:
    ours, theirs = both
    assert ours.prompt(f"a {text} b", "answer") == theirs.prompt(f"a {text} b", "answer")


def test_the_vocabulary_is_the_same(both: Both) -> None:
    ours, theirs = both
    assert fingerprint(ours.tokenizer) == fingerprint(theirs.tokenizer)
    assert ours.text(list(range(200))) == theirs.text(list(range(200)))


def test_a_model_that_may_think_aloud_is_asked_not_to(tmp_path: Path) -> None:
    """As Qwen3's template has it; what it writes is the answer."""
    AutoTokenizer.from_pretrained(hocket_models.path("device")).save_pretrained(tmp_path)
    ours, theirs = FileTokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    thinks = "{% if enable_thinking is defined and enable_thinking is false %} no{% endif %}"
    ours.chat_template = theirs.chat_template = TEMPLATE + thinks
    for tokenizer in (ours, theirs):
        ids = Worded(tokenizer).prompt("?", "answer")
        assert tokenizer.decode(ids).endswith(" no")


def test_a_block_that_training_looks_for_is_its_text() -> None:
    """As transformers renders it."""
    theirs = AutoTokenizer.from_pretrained(hocket_models.path("device"))
    theirs.chat_template = TEMPLATE + "{% generation %}{{ bos_token }} and {% endgeneration %}on"
    asked = [{"role": "user", "content": "?"}]
    expected = theirs.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    assert rendered(theirs.chat_template, theirs.special_tokens_map, [("user", "?")]) == expected


def test_a_template_that_asks_for_the_date_gets_the_same_every_day(tmp_path: Path) -> None:
    """Today's would leave nothing of what is kept of documents for tomorrow."""
    AutoTokenizer.from_pretrained(hocket_models.path("device")).save_pretrained(tmp_path)
    for tokenizer in (FileTokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)):
        tokenizer.chat_template = "{{ strftime_now('%d %b %Y') }}" + TEMPLATE
        ids = Worded(tokenizer).layout("answer").document("The canoe is red.")
        assert tokenizer.decode(ids).startswith(DAY.strftime("%d %b %Y"))


def test_of_several_templates_the_default_is_taken_and_older_files_name_tokens_elsewhere(tmp_path: Path) -> None:
    AutoTokenizer.from_pretrained(hocket_models.path("device")).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    named = config.pop("bos_token")
    config["chat_template"] = [{"name": "tools", "template": "no"}, {"name": "default", "template": TEMPLATE}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"bos_token": {"content": named}}))
    ours, theirs = FileTokenizer(tmp_path), AutoTokenizer.from_pretrained(hocket_models.path("device"))
    theirs.chat_template = TEMPLATE
    asked = [{"role": "user", "content": "?"}]
    assert ours.bos_token_id == theirs.bos_token_id
    expected = theirs.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    assert rendered(ours.chat_template or "", ours.special_tokens_map, [("user", "?")]) == expected


@pytest.mark.parametrize("fault", ["nothing", "no json", "no config", "a list"])
def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path, fault: str) -> None:
    if fault != "nothing":
        whole = (Path(hocket_models.path("device")) / "tokenizer.json").read_text(encoding="utf-8")
        (tmp_path / "tokenizer.json").write_text("{}" if fault == "no json" else whole, encoding="utf-8")
    if fault == "a list":
        (tmp_path / "tokenizer_config.json").write_text("[]", encoding="utf-8")
    with pytest.raises((OSError, ValueError)):
        FileTokenizer(tmp_path)


def test_a_template_may_refuse_and_may_not_reach_out(tmp_path: Path) -> None:
    """It comes with a model, from anybody."""
    AutoTokenizer.from_pretrained(hocket_models.path("device")).save_pretrained(tmp_path)
    tokenizer = FileTokenizer(tmp_path)
    for template in ("{{ raise_exception('no') }}", "{{ messages.__class__.__mro__ }}", "{% if %}"):
        tokenizer.chat_template = template
        with pytest.raises(ValueError, match="the chat template fails"):
            rendered(tokenizer.chat_template, tokenizer.special_tokens_map, [("user", "?")])
