"""Right answers in SQL, and a pipeline, that were written differently, each by a learner alone.

By the exercise's id, with what was given around them taken from its stub. `DISGUISED` are copies of
the first ones: other aliases, case, layout and comments.
"""

HONEST = {
    "6.2": [
        """
ON CONFLICT (partition, tenant_id, repo_slug, branch, document_name, chunk_index)
DO UPDATE SET
    commit_sha = excluded.commit_sha, kind = excluded.kind, name = excluded.name,
    namespace = excluded.namespace, citation_url = excluded.citation_url,
    content = excluded.content, content_hash = excluded.content_hash,
    metadata = excluded.metadata, visibility = excluded.visibility,
    embedding = excluded.embedding, updated_at = now()
WHERE old.commit_sha IS DISTINCT FROM excluded.commit_sha
   OR old.kind <> excluded.kind OR old.name <> excluded.name
   OR old.namespace IS DISTINCT FROM excluded.namespace
   OR old.citation_url IS DISTINCT FROM excluded.citation_url
   OR old.content <> excluded.content OR old.content_hash <> excluded.content_hash
   OR old.metadata <> excluded.metadata OR old.visibility <> excluded.visibility
   OR old.embedding <> excluded.embedding
""",
        """
ON CONFLICT (partition, tenant_id, repo_slug, branch, document_name, chunk_index) DO UPDATE SET
    (commit_sha, kind, name, namespace, citation_url, content, content_hash, metadata, visibility,
     embedding, updated_at) = ROW (excluded.commit_sha, excluded.kind, excluded.name,
     excluded.namespace, excluded.citation_url, excluded.content, excluded.content_hash,
     excluded.metadata, excluded.visibility, excluded.embedding, CURRENT_TIMESTAMP)
WHERE (excluded.embedding, excluded.content, excluded.kind, excluded.name, excluded.namespace,
       excluded.metadata, excluded.visibility, excluded.content_hash, excluded.citation_url,
       excluded.commit_sha) IS DISTINCT FROM (old.embedding, old.content, old.kind, old.name,
       old.namespace, old.metadata, old.visibility, old.content_hash, old.citation_url,
       old.commit_sha)
""",
        """
ON CONFLICT ON CONSTRAINT document_chunks_pkey DO UPDATE SET
    updated_at = now(), embedding = excluded.embedding, visibility = excluded.visibility,
    metadata = excluded.metadata, content = excluded.content, name = excluded.name,
    content_hash = excluded.content_hash, kind = excluded.kind,
    citation_url = excluded.citation_url, commit_sha = excluded.commit_sha,
    namespace = excluded.namespace
WHERE to_jsonb(old) - ARRAY['id', 'created_at', 'updated_at']
   <> to_jsonb(excluded) - ARRAY['id', 'created_at', 'updated_at']
""",
    ],
    "8.1": [
        """
    SELECT w.number, c.part, c.address
    FROM word w CROSS JOIN LATERAL (
        SELECT v.part, v.address FROM visible v WHERE v.search_text @@ w.query LIMIT 2000) c
), counted AS (
    SELECT h.number, count(*) AS n FROM hit h GROUP BY h.number
), weighed AS (
    SELECT k.number, round(1000000 * (1 + ln(2000.0 / k.n)))::bigint AS weight FROM counted k
), found AS (
    SELECT h.part, h.address, sum(g.weight) AS score
    FROM hit h JOIN weighed g ON g.number = h.number JOIN counted k ON k.number = h.number
    WHERE k.n < 2000 GROUP BY h.part, h.address
    ORDER BY score DESC FETCH FIRST (2 * %(most)s) ROWS WITH TIES
)
""",
        """
    SELECT number, part, address FROM word, LATERAL (
        SELECT part, address FROM visible WHERE search_text @@ word.query FETCH FIRST 2000 ROWS ONLY
    ) AS chunk
), weighed (number, weight) AS (
    SELECT number, CAST(1e6 + 1e6 * ln(2000::numeric / count(*)) AS bigint)
    FROM hit GROUP BY 1
), ranked AS (
    SELECT part, address, sum(weight) AS score, rank() OVER (ORDER BY sum(weight) DESC) AS place
    FROM weighed NATURAL JOIN hit WHERE weight > 1000000 GROUP BY part, address
), found AS (
    SELECT part, address, score FROM ranked WHERE place <= %(most)s * 2
)
""",
        """
    SELECT number, part, address FROM (
        SELECT word.number, visible.part, visible.address,
               row_number() OVER (PARTITION BY word.number) AS nth
        FROM visible JOIN word ON visible.search_text @@ word.query) AS every
    WHERE nth <= 2000
), weighed AS (
    SELECT number, (1000000 * (1 + ln(2000) - ln(count(*))))::int AS weight FROM hit GROUP BY number
), sums AS (
    SELECT part, address, sum((SELECT weight FROM weighed WHERE weighed.number = hit.number)) score
    FROM hit WHERE number IN (SELECT number FROM hit GROUP BY number HAVING count(*) <= 1999)
    GROUP BY part, address
), found AS (
    SELECT * FROM sums
    WHERE score >= coalesce((SELECT score FROM sums ORDER BY score DESC
                             OFFSET 2 * %(most)s - 1 LIMIT 1), 0)
)
""",
    ],
}

DISGUISED = {
    "6.2": [
        """
-- what to do if the row is there
on conflict (partition,tenant_id,repo_slug,branch,document_name,chunk_index)
  do update set commit_sha=excluded.commit_sha
  , kind=excluded.kind
  , name=excluded.name, namespace=EXCLUDED.namespace
  , citation_url=EXCLUDED.citation_url /* the link */
  , content=EXCLUDED.content, content_hash=EXCLUDED.content_hash, metadata=EXCLUDED.metadata
  , visibility=EXCLUDED.visibility, embedding=EXCLUDED.embedding, updated_at=NOW()
  where old.commit_sha is distinct from excluded.commit_sha or old.kind != excluded.kind
  or old.name != excluded.name or old.namespace is distinct from excluded.namespace
  or old.citation_url is distinct from excluded.citation_url or old.content != excluded.content
  -- the hash, too
  or old.content_hash != excluded.content_hash or old.metadata != excluded.metadata
  or old.visibility != excluded.visibility or old.embedding != excluded.embedding;
""",
    ],
    "8.1": [
        """
  -- the chunks of each word
  select term.number, piece.part, piece.address from word as term cross join lateral (
    select s.part, s.address from visible as s where s.search_text @@ term.query limit 2000
  ) as piece
), sizes as (select a.number, COUNT(*) as how_many from hit as a group by a.number),
weighed as (
  select z.number, ROUND(1000000*(1+LN(2000.0/z.how_many)))::BIGINT as weight from sizes as z
),
found as (
  select a.part, a.address, SUM(b.weight) as score
  from hit as a inner join weighed as b on b.number=a.number
  inner join sizes as z on z.number=a.number
  where z.how_many<2000 group by a.part, a.address order by score desc
  fetch first (2*%(most)s) rows with ties
)
""",
        """
SELECT w2.number, c2.part, c2.address FROM word AS w2 CROSS JOIN LATERAL (
SELECT part, address FROM visible WHERE search_text @@ w2.query LIMIT 2000) AS c2),
totals AS (SELECT number, count(*) AS total FROM hit GROUP BY number),
weighed AS (SELECT number, round(1000000 * (1 + ln(2000.0 / total)))::bigint AS weight FROM totals),
found AS (SELECT hit.part, hit.address, sum(weighed.weight) AS score FROM hit
JOIN weighed ON weighed.number = hit.number JOIN totals ON totals.number = hit.number
WHERE totals.total < 2000 GROUP BY hit.part, hit.address ORDER BY score DESC
FETCH FIRST (2 * %(most)s) ROWS WITH TIES)
""",
    ],
}

PIPELINES = [
    """
    exit_task = with_database(report(tenant=tenant, repo=repo))
    with dsl.ExitHandler(exit_task):
        fingerprint = fingerprint_documents(source=source)
        fingerprint.set_caching_options(False)
        with_documents(fingerprint, documents_claim)
        documents = load_documents(
            source=source, fingerprint=fingerprint.output, tenant=tenant, repo=repo,
            partition=partition, shards=shards,
        )
        with_documents(documents, documents_claim)
        names = documents.outputs["Output"]
        with dsl.ParallelFor(items=names, parallelism=PARALLELISM) as one:
            pieces = split_documents(
                documents=documents.outputs["documents"], shard=one, chunk_size=chunk_size,
                chunk_overlap=chunk_overlap,
            )
            rows = embed_and_store(
                chunks=pieces.outputs["chunks"], rows=pieces.outputs["rows"], batch_size=batch_size
            )
            rows = with_database(rows)
        counts = dsl.Collected(rows.output)
        index = with_database(build_index(stored=counts))
        ask_questions(index, questions, documents_claim, tenant, repo)
""",
    """
    where = {"tenant": tenant, "repo": repo}
    with dsl.ExitHandler(exit_task=with_database(report(**where)), name="report"):
        state = with_documents(fingerprint_documents(source=source), documents_claim)
        state.set_caching_options(enable_caching=False)
        corpus = with_documents(load_documents(
            source=source, partition=partition, shards=shards, fingerprint=state.output, **where
        ), documents_claim)
        with dsl.ParallelFor(corpus.outputs["Output"], parallelism=PARALLELISM) as number:
            sizes = dict(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
            text = split_documents(documents=corpus.outputs["documents"], shard=number, **sizes)
            kept = with_database(embed_and_store(batch_size=batch_size, **text.outputs))
        ask_questions(
            with_database(build_index(stored=dsl.Collected(kept.output))), questions,
            documents_claim, **where,
        )
""",
]
"""The body of 11.4's `docs_pipeline`."""
