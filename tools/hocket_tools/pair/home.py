"""The folder of a pair on this machine: configuration, sockets, logs, documents; starts nothing."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket_bus import paths
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadConfiguration

NAMES = ("cloud-retrieval", "device-retrieval", "cloud", "device")

_RETRIEVAL = """\
# The {side}'s retrieval daemon: reads documents and ranks their passages.

endpoint = "{own}"          # where it listens: ipc:///path or tcp://address:port
state = "{state}"           # its folder: documents, vectors and index

# embedder = "all-MiniLM-L6-v2"   # or a sentence-transformers folder or name; changing it embeds everything anew
# reranker = ""                   # a CrossEncoder's folder or name scores the best passages
# chunk_words = 64                # words per passage; changing it cuts every document anew
# threads = 1                     # cores that embedding documents may use
# precision = "float32"           # bfloat16 embeds documents faster on processors that have instructions for it
# keys = "{at}/keys"   # the folder of this machine's keys, which tcp needs: hocket keys
# log_level = "info"              # debug, info, warning, error
# log_format = "auto"             # json, people, or auto: for people at a terminal
"""

_DAEMON = """\
# The {side} daemon: a language model that answers together with the other side.

endpoint = "{own}"          # where it listens: ipc:///path or tcp://address:port
retrieval = "{retrieval}"   # this side's retrieval daemon
{more}
decisions = "{decisions}"   # the file of decision records, for hocket explain; empty: none are kept
# max_sessions = 8              # at once, clients' and devices'; more are told "busy" and when to try again
# log_bytes = 1_048_576         # what is kept of a stream, so that its reader can resume
# client_silence_s = 25.0       # an answer whose client is silent this long is ended
# keys = "{at}/keys"   # the folder of this machine's keys, which tcp needs: hocket keys
# drain_s = 20.0                # how long SIGTERM lets requests in work go on before they end with a reason
# metrics = ""                  # where Prometheus may read figures, such as "127.0.0.1:9464"; empty: nowhere
# log_level = "info"            # debug, info, warning, error
# log_format = "auto"           # json, people, or auto: for people at a terminal
{egress}
[kv]
folder = "{kv}"   # keeps what the model computed of passages; empty: nothing is kept
# budget_bytes = 2_000_000_000  # the least recently used go when this is reached

[aggregation]
# relevance_temperature = 0.1   # passages' scores are divided by this before they become weights
# reweigh_every = 4             # tokens between two looks at how relevant the passages are (weights: dynamic)
# wire_mass = 0.98              # share of a distribution that a draft carries
# connect_wait_s = 2.0          # how long a question waits for a cloud that is not connected
# peer_wait_s = 10.0            # how long a step waits for the cloud's draft before the device goes on alone
# rejoin_wait_s = 1.0           # the same for the first joint step after a break

[model]
# Both sides need models with one and the same tokenizer; sizes may differ.
# name = "bundled"              # a folder, or a Hugging Face name such as "Qwen/Qwen2.5-0.5B-Instruct"
# context = 1024                # tokens a row can hold: prompt and answer together
# slots = 16                    # rows kept at once; a request takes one for each of its passages
# kv_bytes = 4_000_000_000      # what the slots' memory may take; more is refused at the start
# prefill_tokens = 128          # of a prompt in one forward pass, in which other sessions decode, too
# threads = 1                   # CPU threads of a forward pass
# dtype = "auto"                # float32, bfloat16, float16; auto: float32 on a CPU, bfloat16 on a GPU
"""

_DEVICE = """\
cloud = "{cloud}"           # the cloud daemon; empty: always answer alone"""

_EGRESS = """
[egress]
# What may leave for the cloud; false keeps it here. See docs/privacy.md; `hocket audit` shows what left.
ledger = "{ledger}"   # the file that counts it; empty: none is kept
# drafts = true      # next-token distributions; false: the device aggregates alone, same tokens, slower
# query = true       # questions; false, here or in the two below: every question is answered alone
# targets = true     # the answer's tokens so far
# control = true     # greetings and pings
# summaries = true   # summaries of documents (nothing sends any yet)
# memory = true      # requests to a memory (nothing sends any yet)
"""

_CLOUD = """\

# silence_s = 30.0              # a session whose device is silent this long is freed"""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of a pair; `at` is absolute."""

    at: Path

    @classmethod
    def find(cls, folder: Path | None = None) -> Home:
        """The pair in `folder`, else the one of this user."""
        return cls((folder or paths.home()).expanduser().absolute())

    def config(self, name: str) -> Path:
        """The configuration file of a daemon."""
        return self.at / f"{name}.toml"

    def log(self, name: str) -> Path:
        """The log file of a daemon."""
        return self.at / "logs" / f"{name}.log"

    def pid(self, name: str) -> Path:
        """Where the process of a daemon is noted."""
        return self.at / "run" / f"{name}.pid"

    def endpoint(self, name: str) -> str:
        """Where a daemon is configured to listen at first."""
        return paths.endpoint(name, self.at)

    def require(self, name: str) -> None:
        """Raises BadConfiguration where there is no configuration file of a daemon."""
        if not self.config(name).exists():
            text = f"no pair in {self.at}, which has no {name}.toml"
            raise BadConfiguration(text, f"make one: hocket up --home {self.at}")

    def listening(self, name: str) -> str:
        """Where a daemon listens by its configuration file as it is now. Raises BadConfiguration."""
        if not self.config(name).exists():
            return self.endpoint(name)
        endpoint = self._values(name).get("endpoint")
        if not isinstance(endpoint, str):
            raise BadConfiguration(f"{self.config(name)}: no endpoint", 'add a line: endpoint = "ipc:///path"')
        return endpoint

    def peer(self) -> str:
        """Where the device finds the cloud by its configuration file; empty without one. Raises BadConfiguration."""
        cloud = self._values("device").get("cloud", "") if self.config("device").exists() else ""
        return cloud if isinstance(cloud, str) else ""

    def ledger(self) -> Path:
        """The file that counts what left the device. Raises BadConfiguration where none is kept."""
        egress = self._values("device").get("egress", {})
        ledger = egress.get("ledger", "") if isinstance(egress, dict) else ""
        if not ledger or not isinstance(ledger, str):
            text, path = f"{self.config('device')}: no ledger is kept", self._ledger()
            raise BadConfiguration(text, f'add under [egress]: ledger = "{path}"')
        return Path(ledger)

    def decisions(self, side: str) -> Path:
        """The file of a side's decision records. Raises BadConfiguration where none is kept."""
        kept = self._values(side).get("decisions", "")
        if not kept or not isinstance(kept, str):
            text = f"{self.config(side)}: no decision records are kept"
            raise BadConfiguration(text, f'add a line: decisions = "{self._decisions(side)}"')
        return Path(kept)

    def prepare(self) -> None:
        """Make what is missing; files that are there are left as they are. Raises BadConfiguration."""
        for name in NAMES:
            check_endpoint(self.endpoint(name))
        for folder in (self.at, self.at / "run", self.at / "logs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in NAMES:
            if not self.config(name).exists():
                self.config(name).write_text(self._text(name), encoding="utf-8")

    def _values(self, name: str) -> dict[str, Any]:
        self.require(name)
        config = self.config(name)
        try:
            return tomllib.loads(config.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadConfiguration(f"{config}: {error}", "mend the file, or remove it and run: hocket up") from error

    def _text(self, name: str) -> str:
        side, _, retrieval = name.partition("-")
        if retrieval:
            return _RETRIEVAL.format(
                at=self.at, side=side, own=self.endpoint(name), state=self.at / f"{side}-documents"
            )
        more = _CLOUD if side == "cloud" else _DEVICE.format(cloud=self.endpoint("cloud"))
        searcher = self.endpoint(f"{side}-retrieval")
        egress = _EGRESS.format(ledger=self._ledger()) if side == "device" else ""
        return _DAEMON.format(
            at=self.at,
            side=side,
            own=self.endpoint(name),
            retrieval=searcher,
            more=more,
            egress=egress,
            kv=self.at / f"{side}-kv",
            decisions=self._decisions(side),
        )

    def _decisions(self, side: str) -> Path:
        return self.at / f"{side}-decisions.db"

    def _ledger(self) -> Path:
        return self.at / "device-ledger.db"
