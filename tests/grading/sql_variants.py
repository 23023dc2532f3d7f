"""Right answers in SQL, and a pipeline, that were written differently, each by a learner alone.

By the exercise's id, with what was given around them taken from its stub. `DISGUISED` are copies of
the first ones: other aliases, case, layout and comments.
"""

HONEST = {
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
        with_documents(seen.set_caching_options(False), documents_claim)
        files = loaded.outputs["documents"]
        with dsl.ParallelFor(items=names, parallelism=PARALLELISM) as one:
            pieces = split_documents(shard=one, documents=files, **sizes)
            rows = embed_and_store(
                chunks=pieces.outputs["chunks"], rows=pieces.outputs["rows"], batch_size=batch_size
            )
            rows = with_database(rows)
        counts = dsl.Collected(rows.output)
        index = build_index(shards=names, stored=counts)
        with_database(index)
        ask_questions(index, questions, documents_claim, tenant, repo)
""",
    """
        seen.set_caching_options(enable_caching=False)
        with_documents(seen, documents_claim)
        each = dsl.ParallelFor(loaded.outputs["Output"], name="shards", parallelism=PARALLELISM)
        with each as number:
            text = split_documents(documents=loaded.outputs["documents"], shard=number, **sizes)
            kept = with_database(embed_and_store(batch_size=batch_size, **text.outputs))
        where = {"tenant": tenant, "repo": repo}
        ask_questions(
            with_database(build_index(stored=dsl.Collected(kept.output), shards=names)), questions,
            documents_claim, **where,
        )
""",
]
"""What a learner writes of 11.4's `docs_pipeline`."""
