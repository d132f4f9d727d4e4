"""`hocket bench smoke`: every headline's benchmark in a setting so small that only one thing can be told: that it runs.

Each is a process of its own, with the bundled models, in a folder that is removed. One has run when it has come to its
claims; whether they hold is shown and does not count, since nothing that is so small, or not alone, is measured.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

AT_ONCE = 2
DEADLINE_S = 600.0  # of one benchmark, on a machine that is not ours alone
LEAVE_S = 20.0  # to end its daemons when it is late
MISSED = 1  # the exit status of a benchmark whose claim misses; also that of a fault

Outcome = Literal["ran", "skipped", "failed"]


@dataclass(frozen=True)
class Trial:
    """A benchmark in small: its command after `hocket bench`, and the corpora that it reads."""

    command: str
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name, such as "aggregation" or "figure 6"."""
        words = shlex.split(self.command)
        return " ".join(words[: 2 if words[0] == "figure" else 1])


WIKITEXT, SQUAD = "wikitext2", "squad"
FIRST_TOKENS = ("prompts_alpaca", "trace_azure_llm_2023", "ttft_llmperf", "ttft_thefastest")
TRIALS = (  # the slow ones first
    Trial("soak --minutes 0.1 --devices 1 --tokens 8"),
    Trial(
        "group --part answers --questions 1 --ways 'group,device alone' --tokens 16", (SQUAD, "lihua_world", "mtrag_un")
    ),
    Trial("graph --part latency --questions 1"),
    Trial("typing --keystrokes 20 --conditions far --pages 4", (WIKITEXT,)),
    Trial("composition --facts 2 --word-s 0.05"),
    Trial("privacy --canaries 1 --max-tokens 8"),
    Trial("aggregation --rtt 0,300 --hold 5 --systems sync,coupled --prompts 1 --tokens 4 --articles 4", (WIKITEXT,)),
    Trial(
        "figure 6 --set device_ms=5 --set cloud_ms=5 --set rtts_ms=0,20 --set prompts=1 --set questions=1"
        " --set tokens=4 --set articles=4 --set methods=device,cloud,sync,independent,coupled",
        (WIKITEXT, SQUAD),
    ),
    Trial("race --prompts 1 --rtt 0 --budget 1 --budget-rtt-ms 0 --tokens 2", FIRST_TOKENS),
    Trial("migration --part moves --tokens 3", (*FIRST_TOKENS, SQUAD, "lihua_world")),
    Trial("retrieval --chunks 100 --searches 10 --scifact 40 --store {folder}/store", ("scifact", WIKITEXT, "nq_open")),
    Trial("stores --kinds sqlite --passages 20000 --searches 10"),
    Trial("dispatch --part policies,times --traces perplexity_70b --requests 50 --runs 1 --repeats 1", FIRST_TOKENS),
    Trial(
        "answers --squad 2 --two-sided 0 --chats 0 --max-tokens 4 --who 'device alone,cloud alone,pair likelihood'",
        (SQUAD, "lihua_world"),
    ),
    Trial(
        "lies --answers 1 --max-tokens 4 --beginnings 1 --tasks answer --temperatures 1",
        (WIKITEXT, SQUAD, "lihua_world"),
    ),
    Trial("dialogues --answers 1 --model bundled --max-tokens 4"),
    Trial("attacker --secrets 1 --values 1 --questions 1 --words 4 --bits 4"),
    Trial("reading --model bundled --words 64 --passages 2 --questions 1 --max-tokens 4"),
    Trial(
        "words --device bundled --cloud bundled --squad 2 --two-sided 0 --nq 0 --max-tokens 4", (SQUAD, "lihua_world")
    ),
    Trial("engine --rows 2 --lengths 16 --steps 3"),
    Trial("determinism --precisions float32 --sessions 2 --tokens 4"),
    Trial("preemption --rejections 5 --layers 2 --width 64"),
    Trial("overhead --tokens 20"),
    Trial("gateway --answers 2 --tokens 4"),
    Trial("crowd --clients 4 --streams 10 --slow 1 --silent 2 --quiet 2 --tokens 4"),
    Trial("group --parties 2 --rtt 0 --answers 1 --tokens 16"),
    Trial("group --part apart --parties 2,3 --rtt 0,100 --answers 1 --tokens 16", (SQUAD, "lihua_world")),
    Trial("group --part privacy --canaries 2 --bits 0,2 --tokens 16"),
    Trial("wire --vocabularies 2048 --draws 10"),
    Trial("link --rtt 0,30 --rate 100 --messages 10"),
)


@dataclass(frozen=True)
class Ran:
    """The outcome of a trial; `why` says what it lacks or what went wrong."""

    name: str
    outcome: Outcome
    seconds: float
    claims: int = 0
    missed: int = 0
    why: str = ""


def run(data: Path, trials: Sequence[Trial], show: Callable[[Ran], None]) -> list[Ran]:
    """Run the trials, two at a time, show each as it ends, and return them in order. Ctrl-C ends those that run."""
    running: set[subprocess.Popen[str]] = set()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        going = {pool.submit(_run, data, trial, running): trial for trial in trials}
        done = {}
        try:
            for ended in as_completed(going):
                done[going[ended]] = ended.result()
                show(ended.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                with suppress(ProcessLookupError):  # it has just ended
                    os.killpg(process.pid, signal.SIGINT)
            raise
    return [done[trial] for trial in trials]


def summary(ran: Sequence[Ran], seconds: float) -> str:
    """Return all results as JSON."""
    failed = sum(one.outcome == "failed" for one in ran)
    whole = {"seconds": round(seconds, 1), "failed": failed, "benchmarks": [asdict(one) for one in ran]}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _run(data: Path, trial: Trial, running: set[subprocess.Popen[str]]) -> Ran:
    if lacks := [name for name in trial.needs if not (data / name).is_dir()]:
        return Ran(trial.name, "skipped", 0.0, why=f"no {', '.join(lacks)} under {data}")
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hocket-smoke-") as folder:
        status, errors = _ended(list(_words(trial, data, Path(folder))), running)
        claims, missed = _claims(Path(folder))
    seconds = round(time.monotonic() - started_s, 1)
    if status == 0 or (status == MISSED and missed):
        return Ran(trial.name, "ran", seconds, claims, missed)
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "it says nothing")
    why = f"takes more than {DEADLINE_S:g} s" if status is None else f"ends with status {status}: {last}"
    return Ran(trial.name, "failed", seconds, claims, missed, why)


def _words(trial: Trial, data: Path, folder: Path) -> Iterator[str]:
    yield from (sys.executable, "-P", "-c", "from hocket_tools.main import main; main()", "bench")
    yield from shlex.split(trial.command.format(folder=folder))
    yield from ("--out", str(folder)) if trial.command.startswith("figure") else ("--json", f"{folder}/report.json")
    if trial.needs:
        yield from ("--data", str(data))


def _ended(words: Sequence[str], running: set[subprocess.Popen[str]]) -> tuple[int | None, str]:
    """Return the exit status, None if it had to be ended, and what it said of faults."""
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        running.add(process)
        for patience_s, ending in ((DEADLINE_S, signal.SIGINT), (LEAVE_S, signal.SIGKILL)):
            try:
                _, errors = process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, ending)
            else:
                running.discard(process)
                return (process.returncode if ending == signal.SIGINT else None), errors
        return None, process.communicate()[1]


def _claims(folder: Path) -> tuple[int, int]:
    """Return how many claims a run came to, and how many of them miss."""
    report = next(iter(sorted(folder.glob("*.json"))), None)
    claims = json.loads(report.read_text(encoding="utf-8"))["claims"] if report else []
    return len(claims), sum(claim["holds"] is False for claim in claims)
