"""What `hocket graph` makes of a device: a picture of its graph, and a calibration of its gate."""
