"""The offline stage for one daemon of a pair: its model, from its configuration, timed in this process and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.progress import Progress

from hocket_bus import config
from hocket_bus.messages import Side
from hocket_tools import console
from hocket_tools.pair.home import Home

if TYPE_CHECKING:
    from hocket_daemon.profiling.offline import Stage
    from hocket_daemon.profiling.profiles import DecodeProfile


def measure_decode(home: Home, side: Side, stage: Stage) -> DecodeProfile:
    """Run the offline stage and store its fit beside those of other numbers of rows, with a progress bar.

    Raises BadConfiguration, or BadRequest when the model's context is too small.
    """
    from hocket_daemon.config import CloudSettings, DaemonSettings, DeviceSettings
    from hocket_daemon.engine.opening.engines import open_model
    from hocket_daemon.profiling import offline, profiles

    kind: type[DaemonSettings] = DeviceSettings if side == "device" else CloudSettings
    settings = config.load(home.config(side), kind)
    model = open_model(settings.model, side)
    about = offline.about(model, settings.model, side)
    err = console.err()
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(f"decoding on the {side}", total=offline.steps_of(model, stage))
        measured = offline.profile(model, about, stage, settings.aggregation.wire_mass, lambda: bar.advance(task))
    file = profiles.decode_file(about, home.at)
    earlier = profiles.load(file, profiles.DecodeProfile)
    fits = (earlier.fits if earlier is not None else {}) | measured.fits
    profiles.save(file, msgspec.structs.replace(measured, fits=fits))
    return measured
