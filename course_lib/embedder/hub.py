"""Models from a hub: a name goes in, and whether it can be loaded comes out, at once.

sentence-transformers asks a hub that does not answer eighteen times, with pauses, before it gives
up. Here it is asked once, before torch is imported, and not at all for a model that was fetched
earlier.
"""

from __future__ import annotations

import logging

from course_lib.errors import ModelError

PATIENCE = 5.0
"""Seconds for the hub to answer."""

WAYS_OUT = (
    "Check its name and the connection; or download it elsewhere, copy the folder here and set "
    "RAG_EMBED_MODEL to its path; or unset RAG_EMBED_MODEL, which takes the model that the course "
    "brings along."
)


def was_fetched(model: str) -> bool:
    """Return whether a model of that name was fetched from the hub earlier, at least its beginning.

    Examples
    --------
    >>> was_fetched("nobody/has-this")
    False
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return any(
            isinstance(try_to_load_from_cache(name, "config.json"), str)
            for name in _names_on_the_hub(model)
        )
    except HFValidationError:
        return False


def ask_hub(model: str) -> None:
    """Ask the hub whether it has a model.

    Raises
    ------
    ModelError
        If it has none of that name, does not hand it out, or does not answer.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    # What it has to say about retries, our error says in one line.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    for name in _names_on_the_hub(model):
        try:
            get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=PATIENCE)
            return
        except EntryNotFoundError:
            return  # the model is there, without this file
        except (HfHubHTTPError, HFValidationError) as error:
            answer = getattr(getattr(error, "response", None), "status_code", "no valid name")
            reason = f"does not hand it out ({answer})"
        # The classes of what can go wrong on the way change with the hub's HTTP client.
        except Exception as error:
            reason = f"does not answer ({error})"
            break
    raise ModelError(
        f"the model {model!r} is not on this machine and could not be fetched from the hub: "
        f"{constants.ENDPOINT} {reason}",
        hint=WAYS_OUT,
    )


def _names_on_the_hub(model: str) -> list[str]:
    """Return the full names that sentence-transformers takes a short one for."""
    return [model] if "/" in model else [f"sentence-transformers/{model}", model]
