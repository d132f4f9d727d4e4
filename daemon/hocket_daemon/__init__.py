"""The pair: the device daemon and the cloud daemon."""
