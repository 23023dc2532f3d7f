"""The recursive splitter against the ones that people install."""

from __future__ import annotations

from typing import Any

from course_lib.loader import split_text
from tests.bench.corpus import real_markdown
from tests.bench.measure import Row, Timed, cpu, take_turns
from tests.bench.peers import Peer

SIZE, OVERLAP = 512, 64
REPEATS = 10
"""Times that a turn splits everything: a single pass is over before caches are warm."""
PEERS = ("langchain-text-splitters", "semantic-text-splitter")
"""They give texts alone, which is quicker than with the offsets that ours always gives."""

GOAL = 1.0
"""No slower than any of them: at over 100 MB a CPU-second nobody waits for more."""


def measure() -> list[Row]:
    """Split the same texts with the same settings, in turn."""
    texts = real_markdown()
    characters = sum(map(len, texts))

    def split_all() -> None:
        for _ in range(REPEATS):
            for text in texts:
                split_text(text, SIZE, OVERLAP)

    with Peer("split.py") as peer:
        peer.ask(texts=texts)

        def ask(name: str) -> dict[str, Any]:
            return peer.ask(peer=name, size=SIZE, overlap=OVERLAP, repeats=REPEATS)

        contestants: dict[str, Timed] = {"ours": cpu(split_all)}
        for name in PEERS:
            contestants[name] = lambda name=name: float(ask(name)["seconds"])  # type: ignore[misc]
        seconds = take_turns(contestants, turns=9)
        versions = {name: ask(name)["version"] for name in PEERS}
    return [
        Row(
            part="split",
            what=f"recursive split of {len(texts)} Markdown texts, {SIZE}/{OVERLAP}",
            peer=f"{name} {versions[name]}",
            ours=REPEATS * characters / seconds["ours"] / 1e6,
            theirs=REPEATS * characters / seconds[name] / 1e6,
            unit="MB/CPU-s",
            ratio=seconds[name] / seconds["ours"],
            goal=GOAL,
        )
        for name in PEERS
    ]
