"""Right answers, written from their statements alone: those that come closest to the course's.

By the exercise's id; they are there to be read, not run: what `copies.py` makes of them is what its
thresholds were chosen by. Two are shorter than those that may be held back.
"""

HONEST = {
    "7.3": [
        """
def search_filtered(conn, values, threshold=0.0, distance=BY_VECTOR):
    found = find_nearest(conn, values, distance)
    if distance != EXACT and len(found) < values["top_k"]:
        found = find_nearest(conn, values, EXACT)
    return list(filter(lambda one: one.similarity_score >= threshold, found))
""",
    ],
    "8.2": [
        """
def fuse(*rankings):
    result = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            result[item] = result.get(item, 0) + 1 / (RRF_K + rank)
    return sorted(result.items(), key=lambda entry: -entry[1])
""",
    ],
    "10.1": [
        """
def list_tree(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    if not truncated:
        return [replace(e, path=prefix + e.path) for e in entries if e.mode != TREE]
    found = []
    for entry in read(sha, False)[0]:
        path = prefix + entry.path
        if entry.mode != TREE:
            found.append(replace(entry, path=path))
        elif leads_to(path, within):
            found.extend(list_tree(read, entry.sha, path + "/", within))
    return found
""",
    ],
    "10.2": [
        """
def wait_time(status, headers, message="", attempt=0):
    if status not in (403, 429):
        return None
    if "retry-after" in headers:
        return float(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0":
        now = parsedate_to_datetime(headers["date"]).timestamp()
        return max(0.0, float(headers["x-ratelimit-reset"]) - now) + 1
    if status == 429 or "rate limit" in message.lower():
        return 60.0 * 2**attempt
    return None
""",
        """
def wait_time(status, headers, message="", attempt=0):
    limited = status in {403, 429}
    if not limited:
        return None
    after = headers.get("retry-after")
    if after is not None:
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0":
        date = parsedate_to_datetime(headers["date"])
        seconds = int(headers["x-ratelimit-reset"]) - date.timestamp()
        return max(seconds, 0) + 1.0
    if status == 429 or "rate limit" in message.lower():
        return 60 * 2.0 ** attempt
    return None
""",
    ],
    "11.2": [
        """
def add_up(stored):
    wrong = [one for one in stored if one["split"] != one["chunks"]]
    if wrong:
        raise InputError(f"{len(wrong)} shards are incomplete")
    sums = dict.fromkeys(COUNTS, 0)
    for one in stored:
        for name in sums:
            sums[name] += int(one[name])
    return sums
""",
    ],
    "15.2": [
        """
def support(sentence, evidence, encode):
    if not evidence:
        return 0.0
    numbers = set(re.findall(NUMBER, sentence))
    known = set()
    for line in evidence:
        known.update(re.findall(NUMBER, line))
    if numbers - known:
        return 0.0
    vectors = encode([sentence, *evidence])
    cosine = max(0.0, float((vectors[1:] @ vectors[0]).max()))
    words = set(stems(sentence))
    theirs = set().union(*(stems(line) for line in evidence))
    share = len(words & theirs) / len(words) if words else 0.0
    return (cosine + share) / 2
""",
    ],
    "15.3": [
        """
def find_unsupported(sentences, paths, lines, encode, least=LEAST_SUPPORT):
    own, _ = check_citations(sentences, paths)

    def is_supported(at):
        evidence = []
        for number in own[at]:
            evidence.extend(lines[number - 1])
        return support(without_citations(sentences[at]), evidence, encode) >= least

    return [sentences[at] for at in range(len(sentences)) if not is_supported(at)]
""",
    ],
    "16.3": [
        """
def bootstrap_interval(values, confidence=0.95, resamples=RESAMPLES, seed=0):
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("there are no values")
    rng = np.random.default_rng(seed)
    drawn = rng.choice(data, size=(resamples, len(data)), replace=True)
    means = drawn.mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(data.mean()), float(low), float(high))
""",
    ],
}
