"""The law of training: an example's prompt is what a device reads when such a text is composed."""

from __future__ import annotations

from pathlib import Path

import pytest
from mainthread import MainThread
from transformers import AutoTokenizer

from exact import exact
from hocket_bus.messages import Takeaway
from hocket_daemon.composition.completer import Completed, Completer
from hocket_daemon.composition.document import Document
from hocket_daemon.composition.memory import Takeaways
from hocket_daemon.composition.window import TokenTexts
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_tools.train.examples import Example
from hocket_tools.train.reading import Reading

TEXT = "The ferry to Brightholm leaves at nine, and whoever misses it has to wait until noon. " * 4
TAKEAWAYS = ("Linnea Varga lives in Oakhaven and keeps bees.", "The ferry to Brightholm costs 14 crowns.")


@pytest.mark.parametrize("takeaways", [(), TAKEAWAYS[:1], TAKEAWAYS])
@pytest.mark.parametrize("typed", [TEXT[:-1], TEXT[:55], TEXT[:40] + "\n\nDear Öz, it’s 7:30;"])
@pytest.mark.parametrize("template", [False, True])
def test_a_prompt_is_that_of_the_running_device(
    tiny_models: dict[str, Path], takeaways: tuple[str, ...], typed: str, template: bool, tmp_path: Path
) -> None:
    folder = with_template(tiny_models["device"], tmp_path) if template else tiny_models["device"]
    model = TransformersModel(exact(name=str(folder), slots=2, context=1024), "device")
    memory = Takeaways(10_000, len)
    memory.add("cloud", [Takeaway(text=text, document="d") for text in reversed(takeaways)], 0.0)
    document, told, main = Document(f"{typed} ", len(typed) + 1, 0), list[Completed](), MainThread()
    with main.compute(model) as compute:
        completer = Completer(compute, model, TokenTexts(model), maximum=4, on_completed=told.append, fail=pytest.fail)
        completer.suggest(document)
        completer.renew(document, memory.items, 0.0)
        main.settle(compute)
        completer.close()
        main.settle(compute)
    lesson = Reading(AutoTokenizer.from_pretrained(folder)).lesson(Example(takeaways, typed, " and then"))
    assert [item.takeaway.text for item in told[-1].reference.items] == list(takeaways)
    assert lesson.prompt == [*told[-1].reference.ids, *told[-1].path.window.ids]
    assert lesson.label == model.continued(" and then")


def with_template(model: Path, folder: Path) -> Path:
    """The same model, which is asked through a chat template."""
    for file in model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "chat_template.jinja").write_text("{% for message in messages %}<{{ message.content }}>{% endfor %}")
    return folder
