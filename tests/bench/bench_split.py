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
PEERS = (
    ("langchain-text-splitters", True),
    ("langchain-text-splitters", False),
    ("semantic-text-splitter", True),
    ("semantic-text-splitter", False),
)
"""Peer, and whether it gives the offsets that ours always gives."""

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

        def ask(name: str, offsets: bool) -> dict[str, Any]:
            return peer.ask(peer=name, size=SIZE, overlap=OVERLAP, offsets=offsets, repeats=REPEATS)

        contestants: dict[object, Timed] = {"ours": cpu(split_all)}
        for key in PEERS:
            contestants[key] = lambda key=key: float(ask(*key)["seconds"])  # type: ignore[misc]
        seconds = take_turns(contestants, turns=9)
        versions = {name: ask(name, False)["version"] for name, _ in PEERS}
    return [
        Row(
            part="split",
            what=f"recursive split of {len(texts)} Markdown texts, {SIZE}/{OVERLAP}",
            peer=f"{name} {versions[name]}{' with offsets' if offsets else ', texts only'}",
            ours=REPEATS * characters / seconds["ours"] / 1e6,
            theirs=REPEATS * characters / seconds[name, offsets] / 1e6,
            unit="MB/CPU-s",
            ratio=seconds[name, offsets] / seconds["ours"],
            goal=GOAL,
        )
        for name, offsets in PEERS
    ]
