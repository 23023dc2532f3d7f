"""Wrong answers to lab 10 that a learner would plausibly write; see `mutants_lab01.py`."""

import hashlib
from dataclasses import replace
from posixpath import splitext

from course_lib.errors import InputError
from course_lib.loader.github.names import RENDERED, citation_url
from course_lib.loader.github.tree import TREE, blob_sha, list_tree
from course_lib.loader.github.waiting import wait_time
from tests.unit.teaching.edits import edits

# --- 10.1 blob_sha ---


def _sha1(data):
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def writes_two_characters_for_the_zero(content):
    return _sha1(f"blob {len(content)}\\0".encode() + content)


def counts_characters(content):
    text = content.decode("utf-8", "replace")
    return _sha1(f"blob {len(text)}\0".encode() + content)


def reads_it_as_text(content):
    return _sha1(f"blob {len(content)}\0{content.decode()}".encode())


# --- 10.2 list_tree ---


def _put(prefix, entries):
    return [replace(one, path=prefix + one.path) for one in entries if one.mode != TREE]


def keeps_the_truncated_part_as_well(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    found = _put(prefix, entries)
    if truncated:
        found += list_tree(read, sha, prefix, within)
    return found


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


def makes_new_entries_without_a_size(read, sha, prefix="", within=()):
    return [replace(one, path=prefix + one.path, size=None) for one in read(sha, True)[0]]


# --- 10.3 wait_time ---


def waits_for_everything_at_an_empty_limit(status, headers, message="", attempt=0):
    return wait_time(403 if headers.get("x-ratelimit-remaining") == "0" else status,
                     headers, message, attempt)  # fmt: skip


# --- 10.4 citation_url ---


def writes_none_into_it(web, commit, path, line_start=None, line_end=None):
    return f"{citation_url(web, commit, path)}#L{line_start}-L{line_end}"


def gives_no_address_for_a_branch(web, commit, path, line_start=None, line_end=None):
    try:
        return citation_url(web, commit, path, line_start, line_end)
    except InputError:
        return None


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
    "10.1": edits(
        blob_sha,
        hashes_the_content_alone=("head + content -> content", "it is the SHA-1 of b'blob 6"),
        puts_the_head_behind=("head + content -> content + head", "it is the SHA-1 of b'blob 6"),
        returns_bytes=("hexdigest -> digest", "it is the SHA-1 of b'blob 6"),
    )
    | {
        writes_two_characters_for_the_zero: "it is the SHA-1 of b'blob 6",
        counts_characters: "two bytes",
        reads_it_as_text: "UnicodeDecodeError",
        writes_the_length_in_hexadecimal: "written in decimal",
    },
    "10.2": edits(
        list_tree,
        believes_a_truncated_answer=("if not truncated -> if True", "the answer was truncated"),
        lists_folders_too=(
            "[entry for entry in entries if entry.mode != TREE] -> entries",
            "folders are not in the result",
        ),
        forgets_the_prefix=(
            "prefix + entry.path -> entry.path",
            "the prefix comes before the path",
        ),
        forgets_the_folders_above=('f"{path}/" -> f"{entry.path}/"', "x is truncated, too"),
        stops_after_one_level=(
            'list_tree(read, entry.sha, f"{path}/", within)'
            ' -> [replace(one, path=f"{path}/{one.path}") for one in read(entry.sha, '
            "False)[0] if one.mode != TREE]",
            "x is truncated, too",
        ),
        returns_a_short_list=("    if truncated ->     if False", "the list would be incomplete"),
        looks_at_everything=(
            "not within or any(is_within(path, one) or is_within(one, path) for one in within)"
            " -> True",
            "it contains nothing that is wanted",
        ),
        skips_the_folders_on_the_way=(
            "is_within(path, one) or is_within(one, path) -> is_within(path, one)",
            "apps contains apps/kfp",
        ),
        skips_the_folders_below=(
            "is_within(path, one) or is_within(one, path) -> is_within(one, path) and one != path",
            "apps contains apps/kfp",
        ),
        loses_the_size_where_it_is_truncated=(
            "append(replace(entry, path=path)) -> append(TreeEntry(path, entry.mode, entry.sha))",
            "hash and size stay",
        ),
        compares_how_names_begin=(
            "is_within(path, one) or is_within(one, path)"
            " -> path.startswith(one) or one.startswith(path)",
            "only the beginning of apps",
        ),
        forgets_what_is_wanted_below=(
            'f"{path}/", within) -> f"{path}/")',
            "for the folders of a folder",
        ),
        raises_another_error=("raise AnswerError( -> raise RuntimeError(", "AnswerError"),
    )
    | {
        keeps_the_truncated_part_as_well: "the answer was truncated",
        always_asks_folder_by_folder: "one request is enough",
        walks_on_folder_by_folder: "recursively first",
        makes_new_entries_without_a_size: "folders are not in the result",
        lists_ordinary_files_of_a_folder: "but programs, links and submodules are not",
    },
    "10.3": edits(
        wait_time,
        looks_at_its_own_clock=(
            'parsedate_to_datetime(headers["date"]).timestamp() -> time.time()',
            "by the server's clock",
        ),
        forgets_the_second_more=(" + 1 -> ", "plus one second"),
        waits_less_than_nothing=(
            'max(0.0, int(headers["x-ratelimit-reset"]) - now)'
            ' -> int(headers["x-ratelimit-reset"]) - now',
            "the reset is in the past",
        ),
        looks_at_the_reset_first=(
            '"retry-after" in headers'
            ' -> "retry-after" in headers and "x-ratelimit-reset" not in headers',
            "retry-after comes first",
        ),
        knows_no_429=("(403, 429) -> (403,)", "the server says how long"),
        waits_for_every_403=(
            "attempt\n    return None -> attempt\n    return 60.0 if status == 403 else None",
            "is about rights",
        ),
        waits_whatever_is_left=(
            'headers.get("x-ratelimit-remaining") == "0" -> "x-ratelimit-reset" in headers',
            "is about rights",
        ),
        minds_upper_case=(".lower() -> ", "the message mentions a rate limit"),
        pauses_grow_by_addition=(
            "2.0**attempt -> (attempt + 1)",
            "the message mentions a rate limit",
        ),
        always_waits_as_long=("2.0**attempt -> 1.0", "the message mentions a rate limit"),
        gives_a_limit_a_second=("60.0 *  -> ", "the message mentions a rate limit"),
        repeats_a_404=("(403, 429) -> (403, 404, 429)", "a 404 is not a limit"),
        returns_text=(
            'float(headers["retry-after"]) -> headers["retry-after"]',
            "the server says how long",
        ),
        obeys_whatever_the_status=(
            'and status < 500 -> and status < 500 and "retry-after" not in headers',
            "would be the same",
        ),
        takes_zero_for_nothing=(
            '"retry-after" in headers -> float(headers.get("retry-after", 0))',
            "0 seconds",
        ),
        knows_three_faults=("status < 500 -> (status < 500 or status > 503)", "500 and above"),
        reads_the_message_first=(
            "    if headers.get("
            ' ->     if status == 403 and "rate limit" in message.lower():\n'
            "        return 60.0 * 2.0**attempt\n    if headers.get(",
            "before the message",
        ),
        reads_every_message=(
            "    if status not in"
            ' ->     if "rate limit" in message.lower() and "x-ratelimit-remaining" not in '
            "headers:\n"
            "        return 60.0 * 2.0**attempt\n    if status not in",
            "whatever the message says",
        ),
        looks_for_half_of_the_words=('"rate limit" -> "limit"', "is about rights"),
    )
    | {
        waits_for_everything_at_an_empty_limit: "does not depend on the requests left",
        waits_a_minute_at_most: "attempt=10",
        finds_both_words: "mentions no 'rate limit'",
    },
    "10.4": edits(
        citation_url,
        cites_a_range_always=(
            'if line_end and line_end > line_start else "" -> if line_end else f"-L{line_start}"',
            "one line is not a range",
        ),
        cites_the_first_line_only=("{last} -> ", "#L10-L20"),
        quotes_nothing=("quote(path) -> path", "a # in a name"),
        quotes_the_slashes_too=("quote(path) -> quote(path, safe='')", "the whole file"),
        forgets_what_is_rendered=("{plain} -> ", "no lines to link to"),
        minds_the_case_of_an_ending=("path.lower() -> path", "also with capital letters"),
        finds_the_ending_anywhere=(
            "path.lower().endswith(RENDERED) -> any(one in path.lower() for one in RENDERED)",
            "its ending is .py",
        ),
        shows_the_source_of_a_whole_file=(
            "        return url\n"
            ' ->         return url + "?plain=1" * path.lower().endswith(RENDERED)\n',
            "the formatted page is better",
        ),
        knows_markdown_alone=('(RENDERED) -> (".md")', "RENDERED"),
        wants_both_lines_to_be_missing=(
            '        return url\n ->         return f"{url}#L{line_end}" if line_end else url\n',
            "without the first line",
        ),
        quotes_by_hand=("{quote(path)} -> {path.replace(' ', '%20').replace('#', '%23')}", "é"),
        cites_a_branch=("not is_sha(commit) -> False", "a branch moves"),
        refuses_two_names=('not is_sha(commit) -> commit in ("main", "master")', "it is a tag"),
        takes_the_beginning_of_a_hash=(
            'not is_sha(commit) -> not re.fullmatch("[0-9a-f]{7,40}", commit)',
            "only the beginning of a hash",
        ),
        counts_the_characters=("not is_sha(commit) -> len(commit) != 40", "is not a hash"),
        looks_at_the_beginning=(
            "not is_sha(commit) -> not is_sha(commit[:40])",
            "one digit too many",
        ),
        refuses_a_branch_only_with_lines=(
            "not is_sha(commit) -> line_start and not is_sha(commit)",
            "a whole file of a branch",
        ),
        raises_what_python_raises=("raise InputError( -> raise TypeError(", "TypeError"),
    )
    | {
        writes_none_into_it: "the whole file",
        gives_no_address_for_a_branch: "a branch moves",
        makes_the_letters_small: "in small letters",
        looks_at_the_extension: "one of RENDERED and nothing else",
        overlooks_a_line_feed: "a line feed is after the hash",
    },
}
