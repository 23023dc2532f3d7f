"""The process in which llama.cpp runs: a GGUF file goes in, an address for OpenAI's protocol out.

It is a process of its own, because a fault of native code would end a notebook's kernel with all
that is in it. What it is asked is one line of JSON on its standard input; it answers with one line,
the address, and ends when that input is closed: with the process that asked, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Serve the model that the first line of standard input names: file, window, key, threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that asked
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints is not an address
    asked = json.loads(sys.stdin.readline())
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = asked["file"]
    params.n_ctx = asked["window"]
    params.api_keys = [asked["key"]]
    params.n_parallel = 1
    # What is left of an earlier prompt makes the numbers of the next one others by a rounding.
    params.cache_prompt, params.cache_ram_mib = False, 0
    params.ui = params.endpoint_slots = False
    if asked["threads"]:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    server = xllamacpp.Server(params)
    print(server.listening_address, file=answers, flush=True)
    sys.stdin.read()
    os._exit(0)  # an answer that nobody waits for is not finished


if __name__ == "__main__":
    main()
