"""Bringing a pair up: start what does not run, wait until each daemon answers, show the last words of one that dies.

A lock lets one process at a time do it in a folder: two would start two daemons of a name, of which one must fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from hocket_bus.deadline import Deadline
from hocket_bus.errors import BadConfiguration, HocketError, Unavailable
from hocket_bus.trust.private import lock
from hocket_tools.pair import processes
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.state import DaemonState, daemon_state

FIRST_PROBE_S, LONGEST_PROBE_S = 0.5, 4.0  # a busy machine may need more for one answer
CONFIGURATION_STATUS = 78


class StartFailed(Unavailable):
    """A daemon ended, or stayed silent, while the pair was started; `log_lines` are its last words."""

    def __init__(self, text: str, remedy: str, log_lines: list[str]) -> None:
        super().__init__(text, remedy)
        self.log_lines = log_lines


def bring_up(
    home: Home,
    wait_s: float,
    progress: Callable[[list[DaemonState]], None],
    stopping: Callable[[], None] = lambda: None,
    *,
    joined: bool = False,
    start: Callable[[Home, str], int] = processes.start,
) -> list[DaemonState]:
    """Start the daemons of `home` that do not run and wait until all are settled.

    A device whose cloud is elsewhere need not be connected to it, unless it is to be `joined`.

    `progress` is called with the states after every look. Raises BadConfiguration or StartFailed; then what was started
    is stopped. So it is on Ctrl-C and SIGTERM, and `stopping` is called first, since stopping takes seconds.
    """
    deadline = Deadline.after(wait_s)
    home.begin()
    with _alone(home, deadline):
        home.prepare()
        home.check()
        names = [name for name in home.names if processes.running(home, name) is None]
        started: dict[str, int] = {}
        try:
            for name in names:
                started[name] = start(home, name)
            return _wait(home, started, deadline, progress, pair=joined or home.names == NAMES)
        except BaseException as error:
            if not isinstance(error, HocketError):  # Ctrl-C, SIGTERM
                stopping()
            processes.stop(home, names)
            raise


@contextmanager
def _alone(home: Home, deadline: Deadline) -> Iterator[None]:
    """Hold the lock for bringing this pair up. Raises Unavailable where another process has it for too long."""
    file = home.at / "up.lock"
    while True:
        try:
            held = lock(file)
            break
        except BlockingIOError:
            if deadline.passed:
                text = f"another hocket up is starting the pair in {home.at}"
                raise Unavailable(text, "wait for it, or give this one more time with --wait") from None
            time.sleep(FIRST_PROBE_S / 4)
    with held:
        yield


def _wait(
    home: Home,
    started: dict[str, int],
    deadline: Deadline,
    progress: Callable[[list[DaemonState]], None],
    *,
    pair: bool,
) -> list[DaemonState]:
    states = {name: DaemonState(name, started.get(name), problem="starting") for name in home.names}
    probe_s = FIRST_PROBE_S
    while True:
        for name in _unsettled(states.values(), pair=pair):
            _check_alive(home, name, started)
            states[name] = daemon_state(home, name, probe_s)
            if pair and (refusal := states[name].refusal):
                raise BadConfiguration(refusal)
        progress(list(states.values()))
        waiting = _unsettled(states.values(), pair=pair)
        if not waiting:
            return list(states.values())
        if deadline.passed:
            raise _silent(home, states[waiting[0]])
        time.sleep(probe_s / 4)  # looking takes from the processors what starting needs
        probe_s = min(LONGEST_PROBE_S, 1.2 * probe_s)


def _unsettled(states: Iterable[DaemonState], *, pair: bool) -> list[str]:
    """Return the names of the daemons to wait for; without `pair` a side need not be connected to the other one."""
    return [state.name for state in states if not (state.settled if pair else state.ready)]


def _check_alive(home: Home, name: str, started: dict[str, int]) -> None:
    if name in started:
        status = processes.exit_status(started[name])
        if status is not None:
            raise _dead(home, name, status)
    elif processes.running(home, name) is None:
        raise _dead(home, name, 1)


def _dead(home: Home, name: str, status: int) -> HocketError:
    lines = processes.last_lines(home.log(name))
    if status == CONFIGURATION_STATUS and lines:
        return BadConfiguration(lines[-1].removeprefix("hocket: "))
    last = f": {lines[-1].strip()}" if lines else ""
    return StartFailed(f"the {name} daemon ended at its start (status {status}){last}", f"see {home.log(name)}", lines)


def _silent(home: Home, state: DaemonState) -> HocketError:
    lines = processes.last_lines(home.log(state.name))
    what = state.problem or ("the cloud is not connected" if state.ready else "it is not ready")
    return StartFailed(f"the {state.name} daemon did not come up in time: {what}", f"see {home.log(state.name)}", lines)
