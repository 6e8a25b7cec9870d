"""One file per wire format: how a request is written, and how its answer is read."""
