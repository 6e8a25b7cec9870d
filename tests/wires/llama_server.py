"""llama.cpp's own server with the weights that the product carries, as a program of its own.

`python llama_server.py WEIGHTS WINDOW` listens on a free port of loopback, says where, and ends with its input.
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    """Serve one conversation at a time, so that what is not freed is missed."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smollm"}
    params.n_ctx = int(sys.argv[2])
    params.n_parallel = 1
    params.n_gpu_layers = 0
    # More than one wait for each other without sleeping, and make a busy machine crawl.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_slots = True
    params.offline = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
