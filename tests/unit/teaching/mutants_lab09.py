"""Wrong answers to lab 09 that a learner would plausibly write; see `mutants_lab01.py`."""

import hashlib
import re
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from posixpath import splitext
from urllib.parse import quote

from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.names import RENDERED, citation_url
from course_lib.loader.github.tree import TREE, TreeEntry, is_within, list_tree
from course_lib.loader.github.waiting import wait_time

# --- 9.1 blob_sha ---


def _sha1(data):
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def hashes_the_content_alone(content):
    return _sha1(content)


def writes_two_characters_for_the_zero(content):
    return _sha1(f"blob {len(content)}\\0".encode() + content)


def counts_characters(content):
    text = content.decode("utf-8", "replace")
    return _sha1(f"blob {len(text)}\0".encode() + content)


def puts_the_head_behind(content):
    return _sha1(content + f"blob {len(content)}\0".encode())


def returns_bytes(content):
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).digest()


def reads_it_as_text(content):
    return _sha1(f"blob {len(content)}\0{content.decode()}".encode())


# --- 9.2 list_tree ---


def _put(prefix, entries):
    return [replace(one, path=prefix + one.path) for one in entries if one.mode != TREE]


def _list(read, sha, prefix, within, *, again, wanted, check=True, path_of=None):
    entries, truncated = read(sha, True)
    if not truncated:
        return _put(prefix, entries)
    entries, truncated = read(sha, False)
    if truncated and check:
        raise AnswerError("too much")
    found = []
    for one in entries:
        path = prefix + one.path
        if one.mode != TREE:
            found += _put(prefix, [one])
        elif wanted(path, within):
            found += again(read, one.sha, f"{path_of(path) if path_of else path}/", within)
    return found


def _on_the_way(path, within):
    return not within or any(is_within(path, one) or is_within(one, path) for one in within)


def believes_a_truncated_answer(read, sha, prefix="", within=()):
    return _put(prefix, read(sha, True)[0])


def lists_folders_too(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    if truncated:
        return _list(read, sha, prefix, within, again=lists_folders_too, wanted=_on_the_way)
    return [replace(one, path=prefix + one.path) for one in entries]


def forgets_the_prefix(read, sha, prefix="", within=()):
    return _list(read, sha, "", within, again=forgets_the_prefix, wanted=_on_the_way)


def forgets_the_folders_above(read, sha, prefix="", within=()):
    return _list(
        read, sha, prefix, within, again=forgets_the_folders_above, wanted=_on_the_way,
        path_of=lambda path: path.rsplit("/", 1)[-1],
    )  # fmt: skip


def keeps_the_truncated_part_as_well(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    found = _put(prefix, entries)
    if truncated:
        found += _list(
            read, sha, prefix, within, again=keeps_the_truncated_part_as_well, wanted=_on_the_way
        )
    return found


def stops_after_one_level(read, sha, prefix="", within=()):
    return _list(
        read, sha, prefix, within, wanted=_on_the_way,
        again=lambda read, sha, prefix, within: _put(prefix, read(sha, False)[0]),
    )  # fmt: skip


def always_asks_folder_by_folder(read, sha, prefix="", within=()):
    found = []
    for one in read(sha, False)[0]:
        if one.mode == TREE:
            found += always_asks_folder_by_folder(read, one.sha, f"{prefix}{one.path}/", within)
        else:
            found += _put(prefix, [one])
    return found


def walks_on_folder_by_folder(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    if not truncated:
        return _put(prefix, entries)
    return always_asks_folder_by_folder(read, sha, prefix, within)


def returns_a_short_list(read, sha, prefix="", within=()):
    return _list(
        read, sha, prefix, within, again=returns_a_short_list, wanted=_on_the_way, check=False
    )


def looks_at_everything(read, sha, prefix="", within=()):
    return _list(
        read, sha, prefix, within, again=looks_at_everything, wanted=lambda path, within: True
    )


def skips_the_folders_on_the_way(read, sha, prefix="", within=()):
    def below(path, within):
        return not within or any(is_within(path, one) for one in within)

    return _list(read, sha, prefix, within, again=skips_the_folders_on_the_way, wanted=below)


def skips_the_folders_below(read, sha, prefix="", within=()):
    def above(path, within):
        return not within or any(is_within(one, path) and one != path for one in within)

    return _list(read, sha, prefix, within, again=skips_the_folders_below, wanted=above)


def makes_new_entries_without_a_size(read, sha, prefix="", within=()):
    return [replace(one, path=prefix + one.path, size=None) for one in read(sha, True)[0]]


def loses_the_size_where_it_is_truncated(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    if not truncated:
        return _put(prefix, entries)
    found = []
    for one in read(sha, False)[0]:
        path, again = prefix + one.path, loses_the_size_where_it_is_truncated
        if one.mode == TREE:
            found += again(read, one.sha, f"{path}/", within)
        else:
            found.append(TreeEntry(path, one.mode, one.sha))
    return found


def compares_how_names_begin(read, sha, prefix="", within=()):
    def begins(path, within):
        return not within or any(path.startswith(one) or one.startswith(path) for one in within)

    return _list(read, sha, prefix, within, again=compares_how_names_begin, wanted=begins)


def forgets_what_is_wanted_below(read, sha, prefix="", within=()):
    return _list(
        read, sha, prefix, within, wanted=_on_the_way,
        again=lambda read, sha, prefix, within: forgets_what_is_wanted_below(read, sha, prefix),
    )  # fmt: skip


def raises_another_error(read, sha, prefix="", within=()):
    try:
        return _list(read, sha, prefix, within, again=raises_another_error, wanted=_on_the_way)
    except AnswerError as error:
        raise InputError("too much") from error


# --- 9.3 wait_time ---


def _wait(
    status, headers, message, attempt, *, limits=(403, 429), now=None, margin=1.0, least=0.0,
    growth=lambda attempt: 2**attempt, told_first=True, listens=str.lower, minute=60.0,
):  # fmt: skip
    is_fault = status >= 500
    if status not in limits and not is_fault:
        return None
    told = float(headers["retry-after"]) if "retry-after" in headers else None
    if told is not None and (told_first or "x-ratelimit-reset" not in headers):
        return told
    if is_fault:
        return float(growth(attempt))
    if headers.get("x-ratelimit-remaining") == "0":
        clock = parsedate_to_datetime(headers["date"]).timestamp() if now is None else now()
        left = int(headers["x-ratelimit-reset"]) - clock
        return (max(least, left) if least is not None else left) + margin
    if status == 429 or "rate limit" in listens(message):
        return minute * growth(attempt)
    return None


def looks_at_its_own_clock(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, now=time.time)


def forgets_the_second_more(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, margin=0.0)


def waits_less_than_nothing(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, least=None)


def looks_at_the_reset_first(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, told_first=False)


def knows_no_429(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, limits=(403,))


def waits_for_every_403(status, headers, message="", attempt=0):
    seconds = _wait(status, headers, message, attempt)
    return 60.0 if status == 403 and seconds is None else seconds


def waits_whatever_is_left(status, headers, message="", attempt=0):
    if status == 403 and "x-ratelimit-reset" in headers:
        headers = headers | {"x-ratelimit-remaining": "0"}
    return _wait(status, headers, message, attempt)


def minds_upper_case(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, listens=str)


def pauses_grow_by_addition(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, growth=lambda attempt: attempt + 1)


def always_waits_as_long(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, growth=lambda attempt: 1)


def gives_a_limit_a_second(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, minute=1.0)


def waits_for_everything_at_an_empty_limit(status, headers, message="", attempt=0):
    return _wait(403 if headers.get("x-ratelimit-remaining") == "0" else status,
                 headers, message, attempt)  # fmt: skip


def repeats_a_404(status, headers, message="", attempt=0):
    return _wait(status, headers, message, attempt, limits=(403, 404, 429))


def returns_text(status, headers, message="", attempt=0):
    return headers.get("retry-after") or _wait(status, headers, message, attempt)


def obeys_whatever_the_status(status, headers, message="", attempt=0):
    if "retry-after" in headers:
        return float(headers["retry-after"])
    return _wait(status, headers, message, attempt)


def takes_zero_for_nothing(status, headers, message="", attempt=0):
    if "retry-after" in headers and not float(headers["retry-after"]):
        headers = {}
    return _wait(status, headers, message, attempt)


def knows_three_faults(status, headers, message="", attempt=0):
    return None if status > 503 else _wait(status, headers, message, attempt)


def reads_the_message_first(status, headers, message="", attempt=0):
    if status == 403 and "retry-after" not in headers and "rate limit" in message.lower():
        return 60.0 * 2**attempt
    return _wait(status, headers, message, attempt)


def reads_every_message(status, headers, message="", attempt=0):
    if "rate limit" in message.lower() and "x-ratelimit-remaining" not in headers:
        return 60.0 * 2**attempt
    return _wait(status, headers, message, attempt)


def looks_for_half_of_the_words(status, headers, message="", attempt=0):
    return _wait(status, headers, message.lower().replace("limit", "rate limit"), attempt)


# --- 9.4 citation_url ---


def _whole(commit):
    return re.fullmatch("[0-9a-f]{40}", commit)


def _cite(
    web, commit, path, first, last, *, quoted=quote, plain=None, end=None, known=_whole,
    error=InputError,
):  # fmt: skip
    if not known(commit):
        raise error(commit)
    url = f"{web}/blob/{commit}/{quoted(path)}"
    if first is None:
        return url
    rendered = path.lower().endswith(RENDERED) if plain is None else plain
    tail = f"-L{last}" if last and last > first else ""
    return f"{url}{'?plain=1' if rendered else ''}#L{first}{tail if end is None else end}"


def cites_a_range_always(web, commit, path, line_start=None, line_end=None):
    end = f"-L{line_end or line_start}"
    return _cite(web, commit, path, line_start, line_end, end=end)


def cites_the_first_line_only(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, end="")


def writes_none_into_it(web, commit, path, line_start=None, line_end=None):
    return f"{_cite(web, commit, path, None, None)}#L{line_start}-L{line_end}"


def quotes_nothing(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, quoted=str)


def quotes_the_slashes_too(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, quoted=lambda path: quote(path, safe=""))


def forgets_what_is_rendered(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, plain=False)


def minds_the_case_of_an_ending(web, commit, path, line_start=None, line_end=None):
    plain = path.endswith(RENDERED)
    return _cite(web, commit, path, line_start, line_end, plain=plain)


def finds_the_ending_anywhere(web, commit, path, line_start=None, line_end=None):
    plain = any(ending in path.lower() for ending in RENDERED)
    return _cite(web, commit, path, line_start, line_end, plain=plain)


def shows_the_source_of_a_whole_file(web, commit, path, line_start=None, line_end=None):
    url = _cite(web, commit, path, line_start, line_end)
    is_whole = line_start is None and path.lower().endswith(RENDERED)
    return f"{url}?plain=1" if is_whole else url


def knows_markdown_alone(web, commit, path, line_start=None, line_end=None):
    plain = path.lower().endswith(".md")
    return _cite(web, commit, path, line_start, line_end, plain=plain)


def wants_both_lines_to_be_missing(web, commit, path, line_start=None, line_end=None):
    if line_start is None and line_end is not None:
        return f"{_cite(web, commit, path, None, None)}#L{line_end}"
    return _cite(web, commit, path, line_start, line_end)


def quotes_by_hand(web, commit, path, line_start=None, line_end=None):
    def quoted(path):
        return path.replace(" ", "%20").replace("#", "%23")

    return _cite(web, commit, path, line_start, line_end, quoted=quoted)


def cites_a_branch(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, known=lambda commit: True)


def refuses_two_names(web, commit, path, line_start=None, line_end=None):
    known = lambda commit: commit not in ("main", "master")  # noqa: E731
    return _cite(web, commit, path, line_start, line_end, known=known)


def takes_the_beginning_of_a_hash(web, commit, path, line_start=None, line_end=None):
    known = lambda commit: re.fullmatch("[0-9a-f]{7,40}", commit)  # noqa: E731
    return _cite(web, commit, path, line_start, line_end, known=known)


def counts_the_characters(web, commit, path, line_start=None, line_end=None):
    known = lambda commit: len(commit) == 40  # noqa: E731
    return _cite(web, commit, path, line_start, line_end, known=known)


def looks_at_the_beginning(web, commit, path, line_start=None, line_end=None):
    known = lambda commit: re.match("[0-9a-f]{40}", commit)  # noqa: E731
    return _cite(web, commit, path, line_start, line_end, known=known)


def refuses_a_branch_only_with_lines(web, commit, path, line_start=None, line_end=None):
    known = _whole if line_start else lambda commit: True
    return _cite(web, commit, path, line_start, line_end, known=known)


def gives_no_address_for_a_branch(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end) if _whole(commit) else None


def raises_what_python_raises(web, commit, path, line_start=None, line_end=None):
    return _cite(web, commit, path, line_start, line_end, error=TypeError)


# --- found by playing learners ---


def writes_the_length_in_hexadecimal(content):
    return _sha1(f"blob {len(content):x}\0".encode() + content)


def lists_ordinary_files_of_a_folder(read, sha, prefix="", within=()):
    def plain(sha, recursive):
        entries, truncated = read(sha, recursive)
        if not recursive:
            entries = [one for one in entries if one.mode in ("100644", TREE)]
        return entries, truncated

    return list_tree(plain, sha, prefix, within)


def waits_a_minute_at_most(status, headers, message="", attempt=0):
    seconds = wait_time(status, headers, message, attempt)
    return min(seconds, 60.0) if seconds and status >= 500 else seconds


def makes_the_letters_small(web, commit, path, line_start=None, line_end=None):
    return citation_url(web, commit.lower(), path, line_start, line_end)


def looks_at_the_extension(web, commit, path, line_start=None, line_end=None):
    url = citation_url(web, commit, path, line_start, line_end)
    rendered = splitext(path.lower())[1] in RENDERED
    return url if rendered else url.replace("?plain=1", "")


def finds_both_words(status, headers, message="", attempt=0):
    both = all(word in message.lower() for word in ("rate", "limit"))
    return wait_time(status, headers, "rate limit" if both else "", attempt)


def overlooks_a_line_feed(web, commit, path, line_start=None, line_end=None):
    if commit == commit.strip():
        return citation_url(web, commit, path, line_start, line_end)
    return citation_url(web, commit.strip(), path, line_start, line_end)


MUTANTS = {
    "9.1": {
        hashes_the_content_alone: "it is the SHA-1 of b'blob 6",
        writes_two_characters_for_the_zero: "it is the SHA-1 of b'blob 6",
        counts_characters: "two bytes",
        puts_the_head_behind: "it is the SHA-1 of b'blob 6",
        returns_bytes: "it is the SHA-1 of b'blob 6",
        reads_it_as_text: "UnicodeDecodeError",
        writes_the_length_in_hexadecimal: "written in decimal",
    },
    "9.2": {
        believes_a_truncated_answer: "the answer was truncated",
        lists_folders_too: "folders are not in the result",
        forgets_the_prefix: "the prefix comes before the path",
        forgets_the_folders_above: "x is truncated, too",
        keeps_the_truncated_part_as_well: "the answer was truncated",
        stops_after_one_level: "x is truncated, too",
        always_asks_folder_by_folder: "one request is enough",
        walks_on_folder_by_folder: "recursively first",
        returns_a_short_list: "the list would be incomplete",
        looks_at_everything: "it contains nothing that is wanted",
        skips_the_folders_on_the_way: "apps contains apps/kfp",
        skips_the_folders_below: "apps contains apps/kfp",
        makes_new_entries_without_a_size: "folders are not in the result",
        loses_the_size_where_it_is_truncated: "hash and size stay",
        compares_how_names_begin: "only the beginning of apps",
        forgets_what_is_wanted_below: "for the folders of a folder",
        raises_another_error: "AnswerError",
        lists_ordinary_files_of_a_folder: "but programs, links and submodules are not",
    },
    "9.3": {
        looks_at_its_own_clock: "by the server's clock",
        forgets_the_second_more: "plus one second",
        waits_less_than_nothing: "the reset is in the past",
        looks_at_the_reset_first: "retry-after comes first",
        knows_no_429: "the server says how long",
        waits_for_every_403: "is about rights",
        waits_whatever_is_left: "is about rights",
        minds_upper_case: "the message mentions a rate limit",
        pauses_grow_by_addition: "the message mentions a rate limit",
        always_waits_as_long: "the message mentions a rate limit",
        gives_a_limit_a_second: "the message mentions a rate limit",
        waits_for_everything_at_an_empty_limit: "does not depend on the requests left",
        repeats_a_404: "a 404 is not a limit",
        returns_text: "the server says how long",
        obeys_whatever_the_status: "would be the same",
        takes_zero_for_nothing: "0 seconds",
        knows_three_faults: "500 and above",
        reads_the_message_first: "before the message",
        reads_every_message: "whatever the message says",
        looks_for_half_of_the_words: "is about rights",
        waits_a_minute_at_most: "attempt=10",
        finds_both_words: "mentions no 'rate limit'",
    },
    "9.4": {
        cites_a_range_always: "one line is not a range",
        cites_the_first_line_only: "#L10-L20",
        writes_none_into_it: "the whole file",
        quotes_nothing: "a # in a name",
        quotes_the_slashes_too: "the whole file",
        forgets_what_is_rendered: "no lines to link to",
        minds_the_case_of_an_ending: "also with capital letters",
        finds_the_ending_anywhere: "its ending is .py",
        shows_the_source_of_a_whole_file: "the formatted page is better",
        knows_markdown_alone: "RENDERED",
        wants_both_lines_to_be_missing: "without the first line",
        quotes_by_hand: "é",
        cites_a_branch: "a branch moves",
        refuses_two_names: "it is a tag",
        takes_the_beginning_of_a_hash: "only the beginning of a hash",
        counts_the_characters: "is not a hash",
        looks_at_the_beginning: "one digit too many",
        refuses_a_branch_only_with_lines: "a whole file of a branch",
        gives_no_address_for_a_branch: "a branch moves",
        raises_what_python_raises: "TypeError",
        makes_the_letters_small: "in small letters",
        looks_at_the_extension: "one of RENDERED and nothing else",
        overlooks_a_line_feed: "a line feed is after the hash",
    },
}
