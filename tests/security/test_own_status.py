"""A status over the network is of the machine and of what is the asker's own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness import Pair

from hocket_bus.messages import AggregationOptions, Ask, Begin, Hello, Prompt, Right, Sampling, Status, StatusRequest
from hocket_bus.sockets import Bus, new_key_pair
from hocket_bus.trust.keys import Peer, write_own, write_peers
from hocket_tools.caller import Caller
from ports import free_port
from waiting import WAIT_S, until

AT = f"tcp://127.0.0.1:{free_port()}"
MAY: frozenset[Right] = frozenset({"pair", "ask", "watch"})
BEGIN = Begin(
    session=os.urandom(16), epoch=0, prompt=Prompt(query="kala?"), task="answer",
    sampling=Sampling(max_tokens=20, seed=1),
    method="coupled", documents=1, eos=[], weights="static", reweigh_every=1, relevance_temperature=0.1, wire_mass=0.98,
)  # fmt: skip
ASK = Ask(
    request=os.urandom(16), topic=os.urandom(16), prompt=Prompt(query="kala?"), sampling=Sampling(max_tokens=60),
    options=AggregationOptions(alone=True), ignore_eos=True, window=1,
)  # fmt: skip


def test_a_status_tells_a_machine_of_its_own_sessions_only(tiny_models: dict[str, Path]) -> None:
    """Alice's session, question, name and whatever is counted over all are nothing to Mallory; both are to the host."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Pair(Path(folder), tiny_models)
        own = {name: new_key_pair() for name in ("cloud", "alice", "mallory")}
        for name, key in own.items():
            write_own(Path(folder) / name, key)
            write_peers(Path(folder) / name, {"cloud": Peer(own["cloud"].public, AT)})
        write_peers(Path(folder) / "cloud", {name: Peer(own[name].public, may=MAY) for name in ("alice", "mallory")})
        made.keys = f"{folder}/cloud"
        with made.stack:
            made.start_retrieval("cloud")
            cloud = made.start_cloud(endpoint=AT, hold_s=0.5)
            hello = Hello(role="device", tokenizer=cloud.services.model.fingerprint, name="alices-laptop")
            bus = made.stack.enter_context(Bus(lambda _: None, Path(folder) / "alice"))
            link = bus.dial(AT, hello)
            until(lambda: link.up)
            for message in (BEGIN, ASK):
                link.send(message)
            until(lambda: bool(cloud.sessions.led and cloud.sessions.followed))
            seen: dict[str, Status] = {}
            for name in ("alice", "mallory"):
                with Caller(AT, WAIT_S, Path(folder) / name) as caller:
                    seen[name] = caller.ask(StatusRequest(request=os.urandom(16)), Status, WAIT_S)
            facts, metrics = cloud.board.facts(), cloud.board.metrics()
    assert (facts["devices"], facts["requests in work"], metrics["sessions"]) == ("alices-laptop", "1", 1)
    own_facts = {"devices": "alices-laptop", "device sessions": "1", "requests in work": "1"}
    assert own_facts.items() <= seen["alice"].facts.items()
    assert seen["alice"].metrics == {"requests": 1.0, "sessions": 1.0}
    others_facts = {"devices": "none", "device sessions": "0", "requests in work": "0"}
    assert others_facts.items() <= seen["mallory"].facts.items()
    assert seen["mallory"].metrics == {"requests": 0.0, "sessions": 0.0}
    assert set(seen["mallory"].facts) == {*others_facts, "model", "compute", "precision", "reading", "bus", "retrieval"}
    assert set(seen["mallory"].facts) < set(facts)
