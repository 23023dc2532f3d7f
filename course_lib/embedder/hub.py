"""Models from a hub: what was fetched before is loaded from this machine, the rest is fetched."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from course_lib.addresses import explained, printable
from course_lib.errors import InputError, ModelError

Model = TypeVar("Model")

PATIENCE = 5.0
"""Seconds for the hub to answer."""


def load(make: Callable[..., Model], model: str, hint: str) -> Model:
    """Return the model that `make` loads, by its name on a hub or from a folder.

    Parameters
    ----------
    make
        A class of sentence-transformers, which takes a name and `local_files_only`.
    model
        A name on the hub, or a path.
    hint
        What to do where it cannot be had.

    Raises
    ------
    ModelError
        If it is not on this machine and cannot be fetched; the package's error is in the message.
    """
    from huggingface_hub import constants, get_session

    is_here = Path(model).expanduser().is_dir()
    try:
        if not is_here:
            os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", "30")
            with suppress(Exception):
                return make(model, local_files_only=True)
            # The package asks a hub that does not answer eighteen times, with pauses.
            with explained():
                session = get_session()
            session.head(constants.ENDPOINT, timeout=PATIENCE)
        return make(model, local_files_only=is_here)
    except InputError as error:
        raise ModelError(
            f"the model {model!r} could not be loaded: {error.args[0]}", hint=error.hint
        ) from error
    except Exception as error:  # whatever the file system, the hub or torch came up with
        raise ModelError(
            f"the model {model!r} could not be loaded: {printable(error)}", hint=hint
        ) from error
