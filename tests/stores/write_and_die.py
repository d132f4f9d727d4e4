"""Run by the tests of several writers: puts documents; with a share of a write's time, is killed in the midst of one.

python write_and_die.py KIND PLACE NAME COUNT SHARE, where a SHARE of 0 kills nothing.
"""

import signal
import sys
import time

from store_kinds import opened, put

OLD = [f"old piece {number} of the harbour" for number in range(60)]
NEW = [f"new piece {number} of the bakery" for number in range(80)]


def main() -> None:
    kind, place, name, count, share = sys.argv[1:]
    store = opened(kind, place)
    for number in range(int(count)):
        put(store, f"{name}/{number}", f"{name} writes {number}", "every writer has this")
        put(store, "shared", f"shared as {name} {number}", "every writer has this")
    if float(share):
        put(store, "victim", *NEW)
        started = time.perf_counter()
        put(store, "victim", *OLD)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process where it stands
        signal.setitimer(signal.ITIMER_REAL, (time.perf_counter() - started) * float(share))
        put(store, "victim", *NEW)
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
