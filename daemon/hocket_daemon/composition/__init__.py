"""Hybrid-RACA: prose is completed on the device as it is typed, from memory that the cloud writes meanwhile."""
