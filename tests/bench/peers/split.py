"""Runs in the peers' environment: splits texts with another splitter and times it."""

import json
import sys
import time
from importlib.metadata import version


def splitter(name, size, overlap):
    if name == "langchain-text-splitters":
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        return RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=overlap, separators=["\n\n", "\n", ". ", " ", ""]
        ).split_text
    from semantic_text_splitter import TextSplitter

    return TextSplitter(size, overlap).chunks


texts = []
for line in sys.stdin:
    request = json.loads(line)
    if "texts" in request:
        texts = request["texts"]
        answer = {"texts": len(texts)}
    else:
        split = splitter(request["peer"], request["size"], request["overlap"])
        begin = time.process_time()
        for _ in range(request["repeats"]):
            for text in texts:
                split(text)
        answer = {
            "seconds": time.process_time() - begin,
            "version": version(request["peer"]),
        }
    print(json.dumps(answer), flush=True)
