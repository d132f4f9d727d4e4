"""How long tests wait for what must come. Only what hangs takes so long, on any machine."""

WAIT_S = 300.0
