"""`hocket train composition`: a device's model learns to complete prose with the memory that the cloud writes."""
