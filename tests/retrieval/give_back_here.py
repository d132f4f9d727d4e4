"""Run by the test of memory: jobs whose work leaves little behind; prints what the process holds, in MiB."""

import os
import sys
from pathlib import Path

from hocket_retrieval.ingestion.job import Job, Report
from hocket_retrieval.service import jobs as module
from hocket_retrieval.service.jobs import Jobs

LITTLE, MUCH = 1_000, 70_000  # bytes
looked: list[int] = []


def look() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    looked.append(pages * os.sysconf("SC_PAGE_SIZE") >> 20)


class Working:
    """What Jobs asks of a collection."""

    def __init__(self, jobs: Jobs) -> None:
        self.graph = self
        self._jobs = jobs
        self._kept: list[bytearray] = []

    def work(self, _: Job) -> Report:
        if not self._kept:
            made = [bytearray(LITTLE if number % 64 else MUCH) for number in range(200_000)]
            self._kept = made[::5_000] + made[-1:]
            look()
        return Report()

    def build(self, _: object) -> None:
        """There is no graph."""

    def is_behind(self) -> bool:
        look()
        self._jobs.stop()
        return True


def main() -> None:
    module.FOLLOW_S = 0.01
    look()
    jobs = Jobs()
    jobs.work(Working(jobs))  # type: ignore[arg-type]
    sys.stdout.write(" ".join(map(str, looked)))


if __name__ == "__main__":
    main()
