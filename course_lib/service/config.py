"""What a service is told: whose keys open it, how much it reads, where the index is."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field

from course_lib.errors import InputError
from course_lib.records import KEBAB
from course_lib.settings import settings

MEGABYTE = 1_000_000
DIGEST = r"[0-9a-f]{64}"
"""What the SHA-256 of a key looks like."""


@dataclass(frozen=True)
class ServiceConfig:
    """The settings of one service.

    Attributes
    ----------
    database_url
        The database, as any role that may use it: the service takes roles of its own. None is
        `default_url()`.
    tenant
        Whose documents are read without a key.
    keys
        SHA-256 of a key, in hexadecimal → the tenant that it belongs to.
    key_required
        Whether reading needs a key as well; writing always does.
    hosts
        Names and addresses under which it is called, beside localhost; ``*`` is any of them.
    max_body_bytes
        Largest request that is read.
    pool_size
        Database connections, at most.
    """

    database_url: str | None = None
    tenant: str = "local"
    keys: dict[str, str] = field(default_factory=dict)
    key_required: bool = False
    hosts: tuple[str, ...] = ()
    max_body_bytes: int = 8 * MEGABYTE
    pool_size: int = 10

    def __post_init__(self) -> None:
        # A wrong one is refused at the start, not at the first request.
        for host in self.hosts:
            if "*" in host.removeprefix("*.") and host != "*":
                raise InputError(
                    f"{host!r} cannot be a name of the service",
                    hint="Write RAG_API_HOSTS like search.example.org, *.example.org or *.",
                )

    @classmethod
    def from_settings(cls) -> ServiceConfig:
        """Return the configuration that the environment and `.env` give.

        Raises
        ------
        InputError
            If a value cannot be used.
        """
        given = settings()
        return cls(
            tenant=given.tenant,
            keys=read_keys(given.api_keys),
            key_required=given.api_key_required,
            hosts=given.api_hosts,
            max_body_bytes=given.api_max_body_bytes,
        )

    def tenant_of(self, key: str) -> str | None:
        """Return the tenant to whom a key belongs, or None for an unknown key."""
        # The digest is looked up, so that the time it takes tells nothing about the keys.
        return self.keys.get(key_digest(key))


def new_key(tenant: str) -> str:
    """Return a new API key of a tenant: 256 random bits, under a prefix that a scanner knows.

    Raises
    ------
    InputError
        If the tenant's name is not lowercase kebab.
    """
    if not re.fullmatch(KEBAB, tenant):
        raise InputError(
            f"{tenant!r} cannot name a tenant", hint="Lowercase letters, digits and single dashes."
        )
    return f"course_{tenant}_{secrets.token_urlsafe(32)}"


def key_digest(key: str) -> str:
    """Return what is kept of a key: its SHA-256. A key of 256 random bits needs no salt.

    Examples
    --------
    >>> key_digest("course_acme_example")[:12]
    'e9d264fe4577'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(given: tuple[str, ...]) -> dict[str, str]:
    """Return digest → tenant for entries ``tenant:digest``.

    Raises
    ------
    InputError
        If an entry has another form; the message does not repeat what may be a key.

    Examples
    --------
    >>> read_keys(("acme:" + 64 * "0",)) == {64 * "0": "acme"}
    True
    """
    keys: dict[str, str] = {}
    for place, entry in enumerate(given, start=1):
        tenant, _, digest = entry.partition(":")
        if not re.fullmatch(KEBAB, tenant) or not re.fullmatch(DIGEST, digest):
            raise InputError(
                f"entry {place} of RAG_API_KEYS is not tenant:digest",
                hint="`course api-key TENANT` prints a new key and its entry.",
            )
        keys[digest] = tenant
    return keys
