"""Runs in the peers' environment: splits texts with another splitter and times it."""

import json
import sys
import time
from importlib.metadata import version


def splitter(name, size, overlap, offsets):
    if name == "langchain-text-splitters":
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(
            chunk_size=size,
            chunk_overlap=overlap,
            separators=["\n\n", "\n", ". ", " ", ""],
            add_start_index=offsets,
        )
        return (lambda text: splitter.create_documents([text])) if offsets else splitter.split_text
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter(size, overlap)
    return splitter.chunk_indices if offsets else splitter.chunks


texts = []
for line in sys.stdin:
    request = json.loads(line)
    if "texts" in request:
        texts = request["texts"]
        answer = {"texts": len(texts)}
    else:
        split = splitter(request["peer"], request["size"], request["overlap"], request["offsets"])
        begin = time.process_time()
        for _ in range(request["repeats"]):
            pieces = [split(text) for text in texts]
        answer = {
            "seconds": time.process_time() - begin,
            "chunks": sum(map(len, pieces)),
            "version": version(request["peer"]),
        }
    print(json.dumps(answer), flush=True)
