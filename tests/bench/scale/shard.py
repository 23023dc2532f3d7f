"""One shard in a container, as two of the pipeline's steps do it; its times are printed as JSON.

`python shard.py DOCUMENTS SHARD`: the file is mounted into the image of the pipeline's steps, which
has the library and not this folder.
"""

import json
import sys
import time

from kfp.dsl import Dataset

from course_lib.embedder import EmbeddingClient
from course_lib.pipeline.components import split_documents
from course_lib.pipeline.storing import database, store_shard
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

documents, shard = sys.argv[1:]
embedder = EmbeddingClient()
embedder.encode(["ready?"])
ready = time.time()
files = [Dataset(uri=one) for one in (documents, "/tmp/chunks.jsonl", "/tmp/rows.jsonl")]
split_documents.python_func(*files, shard, CHUNK_SIZE, CHUNK_OVERLAP)
with database() as conn:
    stored = store_shard("/tmp/rows.jsonl", "/tmp/chunks.jsonl", conn=conn, embedder=embedder)
figures = {"ready": ready, "end": time.time(), "cpu": time.process_time()}
print(json.dumps({"chunks": stored["chunks"], **figures}))
