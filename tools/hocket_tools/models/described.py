"""What is told of a model on this machine, without reading its weights."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.loading import place_of
from hocket_daemon.engine.published import PUBLISHED
from hocket_daemon.engine.settings import BUNDLED
from hocket_daemon.engine.tokenizer import fingerprint


def described(name: str) -> dict[str, str | int]:
    """Facts by name, in order. Raises BadConfiguration where there is no such model."""
    folder = Path(place_of(name, "device"))
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError) as error:
        raise BadConfiguration(
            f"'{name}' is no model on this machine", "see: hocket model list; or name a folder"
        ) from error
    text = config.get_text_config()
    published = PUBLISHED.get(name)
    known = {"model": published.title, "licence": published.licence} if published is not None else {}
    note = {"note": "the device's; the cloud's is larger"} if name == BUNDLED else {}
    return {
        **known,
        **note,
        "place": str(folder),
        "kind": str(config.model_type),
        "layers": int(text.num_hidden_layers),
        "width": int(text.hidden_size),
        "context": int(text.max_position_embeddings),
        "tokens": len(tokenizer),
        "bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file()),
        "chat": "yes" if tokenizer.chat_template else "no: asked as `Question:` and `Answer:`",
        "fingerprint": fingerprint(tokenizer),
    }
