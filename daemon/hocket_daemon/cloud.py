"""The cloud daemon: takes part in the sessions of devices, and answers clients of its own alone."""

from __future__ import annotations

from pathlib import Path

from hocket_bus import config, log
from hocket_bus.faults import notice_text
from hocket_bus.messages import Error, Hello, Welcome
from hocket_bus.sockets import Gone, Greeted

from .config import CloudSettings
from .daemon import Daemon
from .serving.openings import Openings


class CloudDaemon(Daemon):
    """Holds one session for each that a device leads."""

    def __init__(self, settings: CloudSettings) -> None:
        self._devices: dict[bytes, str] = {}  # connected ones: what they call themselves, by route
        super().__init__(settings, "cloud", silence_s=settings.silence_s)

    def connect(self) -> None:
        """Take what devices send."""
        openings = Openings(self.services, self.server, self.sessions, self.modes, self.check_taking)
        openings.add_to(self.at_server)
        self.board.add(facts=[self._device_facts], metrics=[self._device_metrics])

    def greet(self, hello: Hello) -> Welcome | Error:
        """A device must number its tokens as this side does."""
        if hello.role == "device" and hello.tokenizer != self.services.voice.fingerprint:
            return Error(
                code="protocol",
                text="the models of device and cloud have different tokenizers",
                remedy="configure two models of one family under [model] name",
            )
        return super().greet(hello)

    def on_end(self, event: Greeted | Gone) -> None:
        """Know which devices are connected."""
        if isinstance(event, Gone):
            self._devices.pop(event.route, None)
        elif event.hello.role == "device":
            self._devices[event.route] = event.hello.name or event.user or "a device"

    def _device_facts(self) -> dict[str, str]:
        corrections = int(self.services.counters.metrics()["corrections_total"])
        corrected = f"{corrections} time(s), by a near-tie or a device that went on alone"
        connected = ", ".join(sorted(self._devices.values())) or "none"
        return {
            "devices": notice_text(connected),  # as many as a line holds
            "device sessions": str(len(self.sessions.followed)),
            "corrected by a device": corrected,
        }

    def _device_metrics(self) -> dict[str, float]:
        return {"sessions": float(len(self.sessions.followed))}


def main(path: Path) -> None:
    """Run the cloud daemon in the foreground with the configuration file `path`."""
    settings = config.load(path, CloudSettings)
    log.setup(settings.log_level, settings.log_format)
    CloudDaemon(settings).run()
