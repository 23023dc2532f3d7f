"""Landlock: a Linux process gives up, for itself and all it starts, what it need not reach.

Inside bubblewrap it is the second line: no file outside the private folder can be written, no TCP
port used, and no process outside signalled, even where a mount were wrong.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import struct
import sys
from pathlib import Path

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_READ = 0b1101  # execute, read a file, read a folder
_FILE_WRITE = 1 << 1
_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights over files each version knows; later ones know as many as the fifth."""


def restrict(writable: list[Path], devices: list[Path]) -> int:
    """Allow reading everywhere and writing only there; return Landlock's version, 0 without it.

    Parameters
    ----------
    writable
        Folders below which everything is allowed.
    devices
        Files such as `/dev/null` that may be written to.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    version = int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1))
    if version < 1:
        return 0
    files = (1 << _BY_ABI.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("QQQ", files, network, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = int(libc.syscall(_CREATE, attributes, ctypes.c_size_t(size), 0))
    if ruleset < 0:
        return 0
    try:
        rules = [(Path("/"), _READ & files)]
        rules += [(path, files) for path in writable]
        rules += [(path, (_READ | _FILE_WRITE) & 0b111) for path in devices]
        for path, rights in rules:
            _allow(libc, ruleset, path, rights & files)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if libc.syscall(_RESTRICT, ruleset, 0) != 0:
            return 0
    finally:
        os.close(ruleset)
    return version


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights, folder)
        libc.syscall(_ADD, ruleset, 1, rule, 0)
    finally:
        os.close(folder)
