"""Wrong answers to lab 10 that a learner would plausibly write; see `mutants_lab01.py`."""

from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from itertools import groupby

from course_lib.loader.github.tree import TREE, list_tree, plan_update
from course_lib.loader.github.waiting import wait_time
from tests.unit.teaching.edits import edits

# --- 10.1 list_tree ---


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


def lists_a_tree_once(read, sha, prefix="", within=()):
    seen = set()

    def new(sha, recursive):
        if recursive and sha in seen:
            return [], False
        seen.add(sha)
        return read(sha, recursive)

    return list_tree(new, sha, prefix, within)


def lists_a_content_once(read, sha, prefix="", within=()):
    return list({one.sha: one for one in list_tree(read, sha, prefix, within)}.values())


# --- 10.2 wait_time ---


def reads_the_date_in_its_own_zone(status, headers, message="", attempt=0):
    named = {**headers}
    if "date" in headers:
        here = datetime.strptime(headers["date"], "%a, %d %b %Y %H:%M:%S GMT").astimezone()
        named["date"] = format_datetime(here)
    return wait_time(status, named, message, attempt)


def waits_for_everything_at_an_empty_limit(status, headers, message="", attempt=0):
    return wait_time(403 if headers.get("x-ratelimit-remaining") == "0" else status,
                     headers, message, attempt)  # fmt: skip


# --- found by playing learners ---


def lists_ordinary_files_of_a_folder(read, sha, prefix="", within=()):
    def plain(sha, recursive):
        entries, truncated = read(sha, recursive)
        if not recursive:
            entries = [one for one in entries if one.mode in ("100644", TREE)]
        return entries, truncated

    return list_tree(plain, sha, prefix, within)


def finds_both_words(status, headers, message="", attempt=0):
    both = all(word in message.lower() for word in ("rate", "limit"))
    return wait_time(status, headers, "rate limit" if both else "", attempt)


# --- 10.3 plan_update, from its statement alone ---

IS_NEW = "kept.get(path) != sha"
ADDED = "missing.setdefault(sha, []).append(path)"
GONE = "kept.keys() - listed.keys()"


def ignores_capitals(listed, kept):
    small = {path.lower(): sha for path, sha in kept.items()}
    named = {path: small[path.lower()] for path in listed if path.lower() in small}
    gone = {path for path in kept if path.lower() not in {one.lower() for one in listed}}
    return plan_update(listed, named)[0], gone


def takes_neighbours_together(listed, kept):
    missing, gone = plan_update(listed, kept)
    wanted = [(listed[path], path) for path in listed if path in sum(missing.values(), [])]
    groups = groupby(wanted, key=lambda one: one[0])
    return {sha: [path for _, path in group] for sha, group in groups}, gone


def turns_the_two_round(listed, kept):
    return plan_update(kept, listed)


MUTANTS = {
    "10.1": edits(
        list_tree,
        believes_a_truncated_answer=(
            "if truncated: -> if False:",
            "elif truncated -> elif False",
            "the answer was truncated",
        ),
        lists_folders_too=(
            "if entry.mode != TREE: -> if entry.mode != TREE or not truncated:",
            "folders are not in the result",
        ),
        forgets_the_prefix=("prefix + entry.path -> entry.path", "the prefix comes before"),
        forgets_the_prefix_in_the_result=(
            "replace(entry, path=path) -> entry",
            "the prefix comes before",
        ),
        forgets_the_folders_above=('f"{path}/" -> f"{entry.path}/"', "x is truncated, too"),
        forgets_the_slash=('f"{path}/" -> path', "list the folder alone"),
        stops_after_one_level=(
            'list_tree(read, entry.sha, f"{path}/", within)'
            ' -> [replace(one, path=f"{path}/{one.path}") for one in read(entry.sha, '
            "False)[0] if one.mode != TREE]",
            "x is truncated, too",
        ),
        looks_at_everything=(
            "truncated and leads_to(path, within) -> truncated",
            "it contains nothing that is wanted",
        ),
        forgets_the_prefix_of_a_folder=(
            "leads_to(path, within) -> leads_to(entry.path, within)",
            "is wanted",
        ),
        looks_below_what_is_wanted_only=(
            "leads_to(path, within) -> (not within or any(is_within(path, one) for one in within))",
            "apps contains apps/kfp",
        ),
        loses_the_size=(
            "append(replace(entry, path=path)) -> append(TreeEntry(path, entry.mode, entry.sha))",
            "hash and size stay",
        ),
        forgets_what_is_wanted_below=(
            'f"{path}/", within) -> f"{path}/")',
            "for the folders of a folder",
        ),
        lists_folders_that_are_not_wanted=(
            "if entry.mode != TREE: -> "
            "if entry.mode != TREE or (truncated and not leads_to(path, within)):",
            "is not a file, either",
        ),
        leaves_out_hidden_files=(
            "if entry.mode != TREE: -> "
            'if entry.path.startswith("."):\n            continue\n        if entry.mode != TREE:',
            "one answer contains everything",
        ),
        takes_what_has_no_size_for_a_folder=(
            "entry.mode != TREE -> entry.size is not None or not truncated and entry.mode != TREE",
            "but programs, links and submodules are not",
        ),
        takes_the_first_answer_of_a_folder=("read(sha, False) -> read(sha, True)", "truncated"),
    )
    | {
        keeps_the_truncated_part_as_well: "the answer was truncated",
        always_asks_folder_by_folder: "one request is enough",
        walks_on_folder_by_folder: "recursively first",
        makes_new_entries_without_a_size: "folders are not in the result",
        lists_a_tree_once: "all four are listed",
        lists_a_content_once: "all four are listed",
        lists_ordinary_files_of_a_folder: "but programs, links and submodules are not",
    },
    "10.2": edits(
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
        repeats_a_404=("(403, 429) -> (403, 404, 429)", "a 404 is not a rate limit"),
        returns_text=(
            'float(headers["retry-after"]) -> headers["retry-after"]',
            "the server says how long",
        ),
        obeys_whatever_the_status=(
            'if status in (403, 429): -> if status in (403, 429) or "retry-after" in headers:',
            "whatever its headers",
        ),
        takes_zero_for_nothing=(
            '"retry-after" in headers -> float(headers.get("retry-after", 0))',
            "0 seconds",
        ),
        waits_after_a_fault=("(403, 429) -> (403, 429, 502)", "a 502 is not a rate limit"),
        reads_the_message_first=(
            "        if headers.get("
            ' ->         if status == 403 and "rate limit" in message.lower():\n'
            "            return 60.0 * 2.0**attempt\n        if headers.get(",
            "before the message",
        ),
        reads_every_message=(
            "if status in (403, 429): -> "
            'if status in (403, 429) or "rate limit" in message.lower():',
            "whatever its headers",
        ),
        obeys_a_503=(
            "if status in (403, 429): -> "
            'if status in (403, 429) or (status == 503 and "retry-after" in headers):',
            "a 503 is not a rate limit",
        ),
        looks_for_a_zero=(
            'headers.get("x-ratelimit-remaining") == "0"'
            ' -> "0" in headers.get("x-ratelimit-remaining", "")',
            "requests are left",
        ),
        takes_what_is_missing_for_zero=(
            'headers.get("x-ratelimit-remaining") == "0" -> '
            '"x-ratelimit-reset" in headers and int(headers.get("x-ratelimit-remaining", 0)) == 0',
            "is missing, so it is not",
        ),
        wants_a_secondary_limit=('"rate limit" -> "secondary rate limit"', "whatever words"),
        waits_an_hour_at_most=(
            'int(headers["x-ratelimit-reset"]) - now'
            ' -> min(int(headers["x-ratelimit-reset"]) - now, 3600)',
            "more than an hour away",
        ),
        lets_each_wait_grow=(
            'float(headers["retry-after"]) -> float(headers["retry-after"]) * 2.0**attempt',
            "whatever the attempt",
        ),
        looks_for_half_of_the_words=('"rate limit" -> "limit"', "is about rights"),
    )
    | {
        waits_for_everything_at_an_empty_limit: "whatever its headers",
        reads_the_date_in_its_own_zone: "whatever the time zone",
        finds_both_words: "mentions no 'rate limit'",
    },
    "10.3": edits(
        plan_update,
        compares_names_only=(f"{IS_NEW} -> path not in kept", "another content"),
        downloads_everything=(f"{IS_NEW} -> True", "kept and has the listed hash"),
        returns_paths_and_hashes=(f"{ADDED} -> missing[path] = sha", "the list of its paths"),
        keeps_one_path_of_a_content=(f"{ADDED} -> missing[sha] = [path]", "downloaded once"),
        compares_seven_letters=(
            f"{IS_NEW} -> kept.get(path, '')[:7] != sha[:7]",
            "they begin alike",
        ),
        never_removes=(f"{GONE} -> set()", "no longer listed"),
        removes_what_is_outdated_too=(
            f"{GONE} -> {{one for one in kept if listed.get(one) != kept[one]}}",
            "it is not removed",
        ),
        looks_for_the_content_anywhere=(f"{IS_NEW} -> sha not in kept.values()", "renamed"),
        keeps_a_renamed_file=(
            f"{GONE} -> {{one for one in {GONE} if kept[one] not in listed.values()}}",
            "renamed",
        ),
        returns_a_list=(f"{GONE} -> sorted({GONE})", "the removed paths are a set"),
        returns_gone_first=(
            f"missing, {GONE} -> {GONE}, missing",
            "(downloads, removed), in this order",
        ),
        forgets_the_removal=(f", {GONE} -> ", "the pair is (downloads, removed)"),
        sorts_the_paths=(
            "return missing -> return {sha: sorted(paths) for sha, paths in missing.items()}",
            "the order is that of",
        ),
        takes_paths_off_what_is_kept=(f"{IS_NEW} -> kept.pop(path, None) != sha", "still needs"),
        updates_all_files_of_a_content=(
            "return missing"
            " -> return {sha: [one for one in listed if listed[one] == sha] for sha in missing}",
            "up to date, although",
        ),
        removes_hashes=(f"{GONE} -> {{kept[one] for one in {GONE}}}", "no longer listed"),
    )
    | {
        ignores_capitals: "README.md and readme.md",
        takes_neighbours_together: "although b.md is between them",
        turns_the_two_round: "the list of its paths",
    },
}
