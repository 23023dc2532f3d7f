"""Runs in the peers' environment: splits source code with LangChain's splitters."""

import json
import sys
from importlib.metadata import version

from langchain_text_splitters import Language, RecursiveCharacterTextSplitter


def splitter(language, size, overlap):
    settings = {"chunk_size": size, "chunk_overlap": overlap, "add_start_index": True}
    if language == "shell":  # which it has no separators for
        return RecursiveCharacterTextSplitter(**settings)
    return RecursiveCharacterTextSplitter.from_language(Language(language), **settings)


for line in sys.stdin:
    request = json.loads(line)
    chosen = splitter(request["language"], request["size"], request["overlap"])
    spans = [
        [
            (piece.metadata["start_index"], len(piece.page_content))
            for piece in chosen.create_documents([text])
        ]
        for text in request["texts"]
    ]
    answer = {"version": version("langchain-text-splitters"), "spans": spans}
    print(json.dumps(answer), flush=True)
