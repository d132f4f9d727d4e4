"""Link emulator: a TCP relay that makes a local connection as slow and unreliable as a real one."""

from hocket_lab.link.conditions import Conditions, Path, TraceError, parse_address, read_trace
from hocket_lab.link.relay import Link, start

__all__ = ["Conditions", "Link", "Path", "TraceError", "parse_address", "read_trace", "start"]
