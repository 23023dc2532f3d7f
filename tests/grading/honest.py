"""Right answers to the longer exercises, written from their statements alone.

By the exercise's id; they are there to be read, not run: what `copies.py` makes of them is what its
thresholds were chosen by.
"""

HONEST = {
    "4.2": [
        """
def content_hash(chunk):
    record = chunk.to_json()
    names = ["tenantId", "repoSlug", *record.get("hashInputs", [])]
    digest = hashlib.sha256()
    for name in names:
        value = record.get(name, "")
        text = value if isinstance(value, str) else canonical(value)
        data = text.encode("utf-8")
        digest.update(f"{len(data)}:".encode("utf-8"))
        digest.update(data)
    return digest.hexdigest()
""",
        """
def content_hash(chunk):
    data = chunk.to_json()
    parts = []
    for field in ["tenantId", "repoSlug"] + list(chunk.hash_inputs):
        value = data.get(field)
        if value is None:
            value = ""
        if not isinstance(value, str):
            value = canonical(value)
        encoded = value.encode("utf-8")
        parts.append(str(len(encoded)).encode() + b":" + encoded)
    return hashlib.sha256(b"".join(parts)).hexdigest()
""",
    ],
    "5.3": [
        """
def encode_in_batches(encode_batch, texts, batch_size=32):
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    result = None
    for start in range(0, len(order), batch_size):
        places = order[start:start + batch_size]
        vectors = encode_batch([texts[i] for i in places])
        if result is None:
            result = np.empty((len(texts), vectors.shape[1]), dtype=vectors.dtype)
        result[places] = vectors
    return result
""",
        """
def encode_in_batches(encode_batch, texts, batch_size=32):
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    parts = []
    for start in range(0, len(texts), batch_size):
        batch = [texts[i] for i in order[start : start + batch_size]]
        parts.append(encode_batch(batch))
    stacked = np.concatenate(parts)
    result = np.empty_like(stacked)
    result[order] = stacked
    return result
""",
    ],
    "7.2": [
        """
def conditions(filters):
    parts = []
    values = {}
    for name, value in filters.items():
        if value is None:
            continue
        column, placeholder = sql.Identifier(name), sql.Placeholder(name)
        if isinstance(value, list):
            parts.append(sql.SQL("{} = ANY({})").format(column, placeholder))
        else:
            parts.append(sql.SQL("{} = {}").format(column, placeholder))
        values[name] = value
    if not parts:
        return EVERY_ROW, {}
    return sql.SQL(" AND ").join(parts), values
""",
        """
def conditions(filters):
    values = {name: value for name, value in filters.items() if value is not None}
    if not values:
        return EVERY_ROW, values
    tests = []
    for name in values:
        form = "{} = ANY({})" if isinstance(values[name], list) else "{} = {}"
        tests.append(sql.SQL(form).format(sql.Identifier(name), sql.Placeholder(name)))
    return sql.SQL(" AND ").join(tests), values
""",
    ],
    "7.4": [
        """
def fuse(*rankings):
    scores = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (RRF_K + place)
    return sorted(scores.items(), key=lambda pair: pair[1], reverse=True)
""",
        """
def fuse(*rankings):
    from collections import defaultdict

    totals = defaultdict(float)
    for ranking in rankings:
        for i, item in enumerate(ranking):
            totals[item] += 1 / (RRF_K + i + 1)
    return sorted(totals.items(), key=lambda x: -x[1])
""",
        """
def fuse(*rankings):
    result = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            result[item] = result.get(item, 0) + 1 / (RRF_K + rank)
    return sorted(result.items(), key=lambda entry: -entry[1])
""",
    ],
    "9.3": [
        """
def wait_time(status, headers, message="", attempt=0):
    if status in (403, 429):
        if "retry-after" in headers:
            return float(headers["retry-after"])
        if headers.get("x-ratelimit-remaining") == "0":
            now = parsedate_to_datetime(headers["date"]).timestamp()
            return max(0.0, float(headers["x-ratelimit-reset"]) - now) + 1
        if status == 429 or "rate limit" in message.lower():
            return 60.0 * 2**attempt
        return None
    if status >= 500:
        if "retry-after" in headers:
            return float(headers["retry-after"])
        return float(2**attempt)
    return None
""",
        """
def wait_time(status, headers, message="", attempt=0):
    limited = status in {403, 429}
    if not limited and status < 500:
        return None
    after = headers.get("retry-after")
    if after is not None:
        return float(after)
    if status >= 500:
        return 2.0 ** attempt
    if headers.get("x-ratelimit-remaining") == "0":
        date = parsedate_to_datetime(headers["date"])
        seconds = int(headers["x-ratelimit-reset"]) - date.timestamp()
        return max(seconds, 0) + 1.0
    if status == 429 or "rate limit" in message.lower():
        return 60 * 2.0 ** attempt
    return None
""",
    ],
    "10.4": [
        """
def build_pipeline(read_folder, split_part, collect):
    from kfp import dsl
    from kfp.dsl import Dataset

    @dsl.pipeline(name="split-in-shards")
    def pipeline(folder: str, shards: list = ["0/3", "1/3", "2/3"]) -> Dataset:
        read = read_folder(folder=folder)
        with dsl.ParallelFor(items=shards, parallelism=2) as shard:
            part = split_part(documents=read.outputs["documents"], shard=shard)
            part.set_retry(num_retries=2)
        collected = collect(parts=dsl.Collected(part.outputs["chunks"]))
        return collected.outputs["chunks"]

    return pipeline
""",
    ],
    "11.1": [
        """
def make_plan(current, stored):
    skip, add, change = [], [], []
    for key, state in current.items():
        if key not in stored:
            add.append(key)
        elif stored[key] == state:
            skip.append(key)
        else:
            change.append(key)
    remove = [key for key in stored if key not in current]
    return Plan(skip=skip, add=add, change=change, remove=remove)
""",
        """
def make_plan(current, stored):
    both = [key for key in current if key in stored]
    return Plan(
        skip=[key for key in both if current[key] == stored[key]],
        add=[key for key in current if key not in stored],
        change=[key for key in both if current[key] != stored[key]],
        remove=[key for key in stored if key not in current],
    )
""",
        """
def make_plan(current, stored):
    plan = Plan([], [], [], [])
    for key in current:
        if key not in stored:
            plan.add.append(key)
        elif current[key] == stored[key]:
            plan.skip.append(key)
        else:
            plan.change.append(key)
    for key in stored:
        if key not in current:
            plan.remove.append(key)
    return plan
""",
    ],
    "12.3": [
        """
def fit_passages(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError("the question does not fit")
    left = list(range(len(costs)))
    while fixed + sum(costs[i] for i in left) > room:
        worst = min(left, key=lambda i: (scores[i], -i))
        left.remove(worst)
    return left
""",
        """
def fit_passages(fixed, costs, scores, room):
    if fixed > room:
        raise ValueError(f"the question takes {fixed} of {room}")
    total = fixed + sum(costs)
    gone = set()
    for i in sorted(range(len(costs)), key=lambda i: (scores[i], -i)):
        if total <= room:
            break
        gone.add(i)
        total -= costs[i]
    return [i for i in range(len(costs)) if i not in gone]
""",
    ],
    "12.4": [
        """
def check_citations(sentences, paths):
    result, bad, everything = [], [], []
    for sentence in sentences:
        numbers = []
        matches = list(re.finditer(r"\\[(\\d+): ([^\\]]*)\\]", sentence))
        for match in matches:
            number, path = int(match.group(1)), match.group(2)
            if number < 1 or number > len(paths) or paths[number - 1] != path:
                bad.append(match.group(0))
                continue
            if number not in numbers:
                numbers.append(number)
            if number not in everything:
                everything.append(number)
        result.append(numbers if matches else everything)
    return result, bad
""",
    ],
    "13.3": [
        """
def ndcg_at(found, gains, k=DEPTH):
    items = first_different(found, k)
    dcg = sum(gains.get(item, 0) / math.log2(place + 1) for place, item in enumerate(items, 1))
    best = sorted(gains.values(), reverse=True)[:k]
    ideal = sum(gain / math.log2(place + 1) for place, gain in enumerate(best, 1))
    return dcg / ideal if ideal else 0.0
""",
        """
def ndcg_at(found, gains, k=DEPTH):
    def dcg(values):
        return sum(value / math.log2(i + 2) for i, value in enumerate(values))

    ideal = dcg(sorted(gains.values(), reverse=True)[:k])
    if ideal == 0:
        return 0.0
    return dcg([gains.get(item, 0.0) for item in first_different(found, k)]) / ideal
""",
    ],
    "9.2": [
        """
def list_tree(read, sha, prefix="", within=()):
    entries, truncated = read(sha, True)
    if not truncated:
        return [replace(e, path=prefix + e.path) for e in entries if e.mode != TREE]
    entries, truncated = read(sha, False)
    if truncated:
        raise AnswerError(f"{prefix or 'the root'} is too much for one answer")
    found = []
    for entry in entries:
        path = prefix + entry.path
        if entry.mode != TREE:
            found.append(replace(entry, path=path))
        elif not within or any(is_within(path, w) or is_within(w, path) for w in within):
            found.extend(list_tree(read, entry.sha, path + "/", within))
    return found
""",
    ],
    "10.2": [
        """
def split_part(documents, chunks, shard):
    import json
    from pathlib import Path
    from course_lib.loader import split_document, write_jsonl
    from course_lib.pipeline.corpus import Shard
    from course_lib.records import Document

    part = Shard.parse(shard)
    count, found = 0, []
    with open(documents.path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["name"] in part:
                count += 1
                document = Document(Path(record["name"]), record["name"], record["content"])
                found.extend(split_document(document))
    write_jsonl(Path(chunks.path), found)
    chunks.metadata["documents"] = count
    chunks.metadata["chunks"] = len(found)
""",
    ],
    "10.3": [
        """
def collect(parts, chunks):
    total = {"documents": 0, "chunks": 0}
    with open(chunks.path, "wb") as out:
        for part in parts:
            with open(part.path, "rb") as file:
                data = file.read()
            lines = data.count(b"\\n")
            if lines != part.metadata["chunks"]:
                raise ValueError(f"{part.path} has {lines} lines")
            out.write(data)
            total["documents"] += int(part.metadata["documents"])
            total["chunks"] += lines
    chunks.metadata.update(total)
    return total["chunks"]
""",
    ],
    "12.5": [
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
    "13.4": [
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
        """
def bootstrap_interval(values, confidence=0.95, resamples=RESAMPLES, seed=0):
    if not len(values):
        raise ValueError("no values")
    random = np.random.default_rng(seed)
    values = np.array(values)
    means = [
        values[random.integers(0, len(values), len(values))].mean() for _ in range(resamples)
    ]
    rest = 100 * (1 - confidence) / 2
    return Interval(
        values.mean(), np.percentile(means, rest), np.percentile(means, 100 - rest)
    )
""",
    ],
}
