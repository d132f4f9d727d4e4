"""Parts of `hocket graph` for a device: a picture of its graph, and a calibration of its gate."""
