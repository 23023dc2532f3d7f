"""Runs in the peers' environment: splits source code with LangChain's splitters and times it."""

import functools
import json
import sys
import time
from importlib.metadata import version

from langchain_text_splitters import Language, RecursiveCharacterTextSplitter


def splitter(language, size, overlap, offsets):
    settings = {"chunk_size": size, "chunk_overlap": overlap, "add_start_index": offsets}
    if language == "shell":  # which it has no separators for
        return RecursiveCharacterTextSplitter(**settings)
    return RecursiveCharacterTextSplitter.from_language(Language(language), **settings)


def split_one(chosen, offsets, text):
    return chosen.create_documents([text]) if offsets else chosen.split_text(text)


texts = []
for line in sys.stdin:
    request = json.loads(line)
    if "texts" in request:
        texts = request["texts"]
        answer = {"texts": len(texts), "version": version("langchain-text-splitters")}
    else:
        offsets = request["offsets"]
        chosen = splitter(request["language"], request["size"], request["overlap"], offsets)
        split = functools.partial(split_one, chosen, offsets)
        begin = time.process_time()
        pieces = [split(text) for text in texts]
        answer = {"seconds": time.process_time() - begin}
        if request.get("spans"):
            answer["spans"] = [
                [(piece.metadata["start_index"], len(piece.page_content)) for piece in documents]
                for documents in pieces
            ]
    print(json.dumps(answer), flush=True)
