"""Shards: the share of a corpus that one step works on, and the file that it makes of it.

A step of a pipeline may be killed and started again, on another machine and at another time. So
the number of a name's shard is the same in every process, and a file is there whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path


def shard_of(name: str, shards: int) -> int:
    """Return the number of the shard that a name belongs to, from 0 to `shards` - 1.

    It is made of the SHA-256 digest of the name, and so the same in every process.

    Examples
    --------
    >>> shard_of("a.md", 2), shard_of("a.md", 3), shard_of("a.md", 7)
    (1, 2, 4)
    >>> shard_of("a.md", 0)
    ValueError: 0 shards
    """
    if shards < 1:
        raise ValueError(f"{shards} shards")
    digest = sha256(name.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % shards


def write_shard(path: Path, lines: Mapping[str, Iterable[str]], shard: str) -> int:
    r"""Write the lines of one shard to a file, and return how many there are.

    - Go through `lines[name]` only for the names of this shard, in their order, because making
      lines takes time. "0/2" is the first of two shards, with the number 0.
    - On every machine, the file is UTF-8 with "\n" after each line. It is there, also if empty.
    - Whoever opens `path` finds the old file or the whole new one, at any moment: also if the
      process is killed, or `lines` raises an error.
    - A call that was killed may leave a part of a file. The next call, in another process, leaves
      the whole file, and no such part.
    - What others have in the folder stays. `pages.0` and `pages.1` may be made at the same time.

    Examples
    --------
    >>> write_shard(Path("pages.txt"), {"a.md": ["Apples."], "b.md": ["Figs.", "Plums."]}, "0/2")
    2
    """
    number, of = map(int, shard.split("/"))
    mine = [line for name in lines if shard_of(name, of) == number for line in lines[name]]
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(f"{line}\n" for line in mine), encoding="utf-8", newline="\n")
    os.replace(part, path)
    return len(mine)
