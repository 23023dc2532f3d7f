"""Connection URLs: another database or another login in one, and its password hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError


def hide_password(url: str) -> str:
    """Return a URL or key-value connection string fit for messages: every password in it is `***`.

    Settings that hold from the login on, such as the collection, are left out.

    Examples
    --------
    >>> hide_password("postgresql://ada:secret@localhost/course?password=x")
    'postgresql://ada:***@localhost/course?password=***'
    >>> hide_password("host=localhost password='a b' dbname=course")
    'host=localhost password=*** dbname=course'
    """
    url = re.sub(r"[?&]options=-c[^&\s]*", "", url)
    url = re.sub(r"^(\w+://[^:/?#]*):.*@(?=[^@]*$)", r"\1:***@", url)
    value = r"(?:'(?:[^'\\]|\\.)*'|[^\s&']+)"
    return re.sub(rf"\b(password|sslpassword)(\s*=\s*){value}", r"\1\2***", url)


def url_for(url: str, dbname: str, user: str | None = None, password: str | None = None) -> str:
    """Return `url` with another database, and with another login where one is given.

    Examples
    --------
    >>> url_for("postgresql://ada:x@localhost:5432/a?sslmode=prefer", "b", "bob", "p@ss")
    'postgresql://bob:p%40ss@localhost:5432/b?sslmode=prefer'
    >>> url_for("host=/run/postgresql dbname=a user=ada", "b")
    'postgresql://ada@/b?host=%2Frun%2Fpostgresql'
    """
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    parts.pop("dbname", None)
    if user is not None:
        for key in ("user", "password", "passfile"):
            parts.pop(key, None)
        parts |= {"user": user, "password": password or ""}
    login = quote(parts.pop("user", ""), safe="")
    secret = parts.pop("password", "")
    login += f":{quote(secret, safe='')}" if secret else ""
    place = ""
    if re.fullmatch(
        r"[\w.-]+", parts.get("host", "")
    ):  # others (sockets, IPv6, lists) stay parameters
        place = parts.pop("host") + (f":{parts.pop('port')}" if "port" in parts else "")
    query = f"?{urlencode(parts, quote_via=quote, safe='')}" if parts else ""
    return f"postgresql://{login}{'@' if login else ''}{place}/{quote(dbname, safe='')}{query}"


def with_settings(url: str, values: Mapping[str, str]) -> str:
    """Return `url` with settings that hold from the login on.

    Raises
    ------
    DatabaseError
        It is not a URL.

    Examples
    --------
    >>> with_settings("postgresql://ada@db/course", {"role": "reader"})
    'postgresql://ada@db/course?options=-crole%3Dreader'
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise not_a_url(url, error) from None
    given = [str(parts["options"])] if parts.get("options") else []
    options = " ".join([*given, *(f"-c{name}={value}" for name, value in values.items())])
    database = str(parts.get("dbname") or parts.get("user") or "")
    return url_for(make_conninfo(url, options=options), database)


def split_settings(url: str) -> tuple[str, dict[str, str]]:
    """Return a connection string without collection and role, and these: name → value.

    Poolers refuse or ignore what a login says in `options`, so that they are set by a statement.
    What else `options` holds stays there.

    Raises
    ------
    DatabaseError
        It is not a URL.

    Examples
    --------
    >>> split_settings("postgresql://ada@db/course?options=-crole%3Dreader%20-cjit%3Doff")
    ('user=ada dbname=course host=db options=-cjit=off', {'role': 'reader'})
    """
    try:
        parts = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError as error:
        raise not_a_url(url, error) from None
    options = parts.pop("options", "")
    found = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _SETTING.findall(options)}
    rest = _SETTING.sub("", options).strip()
    if rest:
        parts["options"] = rest
    return make_conninfo(**parts), found


_SETTING = re.compile(r"(?:^|(?<=\s))(?:-c\s*|--)(search_path|role)=((?:\\.|[^\s\\])*)\s*")


def not_a_url(url: str, error: psycopg.ProgrammingError) -> DatabaseError:
    """Return the error for what is given as a URL and cannot be read as one."""
    return DatabaseError(
        f"{hide_password(url)} is not a connection URL: {without_password(error, url)}",
        hint="It looks like postgresql://user:password@host:5432/database.",
    )


def without_password(error: BaseException, url: str) -> str:
    """Return what an error about a URL says, on one line and without the URL's password.

    Examples
    --------
    >>> without_password(OSError("no entry ada:s3cret"), "postgresql://ada:s3cret@db/course")
    'no entry ada:***'
    >>> without_password(OSError('token "s%zz"'), "postgresql://ada:s%zz@db/course")  # no URL
    'token "***"'
    """
    said = " ".join(str(error).split())
    try:
        password = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        written = re.match(r"\w+://[^:/?#]*:(.+)@", url)
        return hide_password(said.replace(written[1], "***") if written else said)
    return said.replace(str(password), "***") if password else said
