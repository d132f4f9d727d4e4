"""`hocket simulate record`: decisions and decode times of a running pair's answers."""

from __future__ import annotations

from collections.abc import Sequence as Many
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from rich.progress import track

from hocket_bus.messages import Token
from hocket_client import Client
from hocket_tools import console

from .recording import Accepted, DecodeTimes, Recording, Sequence, save

BY_DEVICE, BY_CLOUD = {"both", "device"}, {"both", "cloud"}


def record(
    device: str, cloud: str, prompts: Many[str], tokens: int, out: Path, *, keys: Path | None = None
) -> Recording:
    """Ask the pair at the endpoint `device` every prompt both ways, and each side alone; write the recording.

    A token's source says whose draft it was, which is both decisions; a side's decode times are the gaps between the
    tokens that it sends alone. Raises what the client raises.
    """
    with Client(device, keys=keys) as pair, Client(cloud, keys=keys) as alone:
        sequences = [
            Sequence(
                independent=_accepted(_tokens(pair, prompt, tokens, seed, "independent")),
                coupled=_accepted(_tokens(pair, prompt, tokens, seed, "coupled")),
                decode_s=DecodeTimes(*(_decode_s(_tokens(each, prompt, tokens, seed)) for each in (pair, alone))),
            )
            for seed, prompt in enumerate(track(prompts, "recording", console=console.err(), transient=True))
        ]
    recording = Recording(f"recorded from a running pair, {len(prompts)} prompts of {tokens} tokens", sequences)
    save(out, recording)
    return recording


def _tokens(client: Client, prompt: str, tokens: int, seed: int, aggregation: str | None = None) -> list[Token]:
    stream = client.ask(
        prompt,
        task="complete",
        seed=seed,
        max_tokens=tokens,
        ignore_eos=True,
        aggregation=aggregation or "coupled",
        alone=aggregation is None,
        require_cloud=aggregation is not None,
    )
    return list(stream)


def _accepted(tokens: Many[Token]) -> Accepted:
    return Accepted([token.source in BY_DEVICE for token in tokens], [token.source in BY_CLOUD for token in tokens])


def _decode_s(tokens: Many[Token]) -> list[float]:
    """Return the gaps between tokens; nothing precedes the first, so it gets their mean."""
    gaps = [max(1e-6, later.t_s - earlier.t_s) for earlier, later in pairwise(tokens)]
    return [fmean(gaps), *gaps]
