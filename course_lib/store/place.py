"""Where the embedded server's files lie: its account reaches them, and nobody tampers with them.

That is the state folder (`.course`). Where the server's account cannot enter it (a checkout below
root's closed home), the data lies in a folder of its own under /var/lib or /var/tmp, called a house
here, and `pgdata` in the state folder is a link to it. Permissions of folders that are not ours are
never changed.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from course_lib.errors import ServerError
from course_lib.store.account import Account, can_enter, hand_over

HOUSES = ("/var/lib", "/var/tmp", "/tmp")
# sun_path holds 104 bytes on macOS and 108 on Linux, including the final NUL.
LONGEST_SOCKET = 103
SOCKET_PARENT = Path("/tmp")


def find_home(state: Path, account: Account | None) -> Path:
    """Return the folder for the data and what the server's account has to read; make it if needed.

    Parameters
    ----------
    state
        The state folder (`.course`).
    account
        Who runs the server; `None` is ourselves, and then it is always `state`.

    Raises
    ------
    ServerError
        The account cannot enter the state folder nor any of the usual places.
    """
    if account is None:
        return state
    link = state / "pgdata"
    if link.is_symlink():
        house = house_of(state)
        if house is not None and _belongs_to(house, state):
            return house
        if house is None and link.is_dir() and can_enter(account, state):
            return state  # somebody put the data on another disk
        link.unlink()
    if can_enter(account, state):
        return state
    house = _new_house(state, account)
    if link.is_dir():
        # The checkout was moved to where the account cannot enter: its data moves out.
        _move_tree(link, house / "pgdata", account)
    link.symlink_to(house / "pgdata", target_is_directory=True)
    return house


def house_of(state: Path) -> Path | None:
    """Return the house that `find_home` made, where there is one and it is still ours."""
    link = state / "pgdata"
    if not link.is_symlink():
        return None
    house = Path(os.readlink(link)).parent
    return house if (house / "state").is_file() and _is_trusted(house) else None


def is_at_home(state: Path) -> bool:
    """Return whether the house that `state` points to is its own, not that of a checkout it copies.

    True as well where there is no house; the next `find_home` puts it right where it is not.
    """
    house = house_of(state)
    return house is None or _recorded(house) == state


def socket_folder(home: Path, account: Account | None, previous: Path | None) -> Path | None:
    """Return a private folder for the unix socket whose path is short enough; `None` on Windows.

    Parameters
    ----------
    home
        Where the data directory lies: used where its path is short enough.
    account
        Who runs the server and so must own the folder.
    previous
        The folder of the last start: used again where it is still there and still ours.
    """
    if sys.platform == "win32":
        return None
    near = home / "socket"
    if len(os.fsencode(near / ".s.PGSQL.65535")) <= LONGEST_SOCKET:
        near.mkdir(mode=0o700, exist_ok=True)
        hand_over(near, account)
        return near
    if previous is not None and is_far_socket_folder(previous, account):
        return previous
    folder = Path(tempfile.mkdtemp(prefix="course-", dir=SOCKET_PARENT))
    hand_over(folder, account)
    return folder


def is_far_socket_folder(folder: Path, account: Account | None) -> bool:
    """Return whether `socket_folder` made `folder` under /tmp and nobody has replaced it."""
    if sys.platform == "win32" or folder.parent != SOCKET_PARENT:
        return False
    try:
        found = folder.lstat()
    except OSError:
        return False
    uid = account.uid if account else os.geteuid()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file whole or not at all; nobody else can read it unless `mode` says so."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if mode != 0o600:
            Path(name).chmod(mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _new_house(state: Path, account: Account) -> Path:
    """Make a folder that root owns and `account` can pass through, under an unguessable name."""
    for place in HOUSES:
        try:
            house = Path(tempfile.mkdtemp(prefix="course-", dir=place))
        except OSError:
            continue
        house.chmod(0o711)
        if can_enter(account, house):
            (house / "state").write_text(str(state), encoding="utf-8")
            return house
        shutil.rmtree(house, ignore_errors=True)
    raise ServerError(
        f"The account {account.name!r}, which runs PostgreSQL, can enter neither {state} nor a "
        f"new folder in {', '.join(HOUSES)}",
        hint="Set COURSE_STATE to a folder that it can enter, or set DATABASE_URL.",
    )


def _is_trusted(house: Path) -> bool:
    """Return whether a folder is a real one, is ours and can be written to by nobody else."""
    try:
        found = house.lstat()
    except OSError:
        return False
    if sys.platform == "win32":
        return False
    ours = found.st_uid == os.geteuid() and not found.st_mode & 0o022
    return stat.S_ISDIR(found.st_mode) and ours


def _belongs_to(house: Path, state: Path) -> bool:
    """Return whether a house is that of `state`: a copied checkout must not share its original."""
    owner = _recorded(house)
    if owner == state:
        return True
    if house_of(owner) == house:
        return False
    (house / "state").write_text(str(state), encoding="utf-8")  # the checkout was moved
    return True


def _recorded(house: Path) -> Path:
    """Return the state folder that a house was made for."""
    return Path((house / "state").read_text(encoding="utf-8"))


def _move_tree(source: Path, target: Path, account: Account) -> None:
    shutil.move(source, target)
    for path in [target, *target.rglob("*")]:
        hand_over(path, account)
