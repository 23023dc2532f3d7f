"""Runs in the peers' environment: makes a peer's table and searches it, through its own interface.

The rows come by SQL from the table that is there; what is timed is one call, from the question's
ready vector to the peer's objects.
"""

import json
import sys
import time
from importlib.metadata import version

TABLE = "langchain_chunks"


class LangChain:
    """PGVectorStore with a stored tsvector."""

    package = "langchain-postgres"

    def __init__(self, url, dimension):
        from langchain_core.embeddings import Embeddings
        from langchain_postgres import PGEngine
        from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig

        class NoModel(Embeddings):
            def embed_documents(self, texts):
                return [[0.0] * dimension for _ in texts]

            def embed_query(self, text):
                return [0.0] * dimension

        self.model = NoModel()
        self.engine = PGEngine.from_connection_string(
            url.replace("postgresql://", "postgresql+asyncpg://", 1)
        )
        self.engine.init_vectorstore_table(
            TABLE,
            dimension,
            hybrid_search_config=HybridSearchConfig(tsv_column="words"),
        )

    def index(self, m, ef_construction, ef_search):
        from langchain_postgres.v2.indexes import HNSWIndex

        self.widen(ef_search)
        self.store.apply_vector_index(HNSWIndex(m=m, ef_construction=ef_construction))

    def widen(self, ef_search):
        from langchain_postgres import PGVectorStore
        from langchain_postgres.v2.indexes import HNSWQueryOptions

        self.store = PGVectorStore.create_sync(
            self.engine,
            self.model,
            TABLE,
            index_query_options=HNSWQueryOptions(ef_search=ef_search),
        )

    def search(self, vector, words, top_k, hybrid):
        from langchain_postgres.v2.hybrid_search_config import (
            HybridSearchConfig,
            reciprocal_rank_fusion,
        )

        options = {}
        if hybrid:
            options["hybrid_search_config"] = HybridSearchConfig(
                tsv_column="words",
                fts_query=words,
                fusion_function=reciprocal_rank_fusion,
                primary_top_k=top_k,
                secondary_top_k=top_k,
            )
        found = self.store.similarity_search_with_score_by_vector(vector, k=top_k, **options)
        return [document.id for document, _ in found]


class LlamaIndex:
    """PGVectorStore with JSONB metadata and hybrid search."""

    package = "llama-index-vector-stores-postgres"

    def __init__(self, url, dimension):
        self.url, self.dimension = url, dimension
        self.store = self.make(None)
        self.store._initialize()  # what its first `add` does

    def make(self, hnsw):
        from llama_index.vector_stores.postgres import PGVectorStore

        return PGVectorStore.from_params(
            connection_string=self.url.replace("postgresql://", "postgresql+psycopg2://", 1),
            async_connection_string=self.url.replace("postgresql://", "postgresql+asyncpg://", 1),
            table_name="llama_chunks",
            hybrid_search=True,
            embed_dim=self.dimension,
            use_jsonb=True,
            cache_ok=True,
            hnsw_kwargs=hnsw,
        )

    def index(self, m, ef_construction, ef_search):
        self.graph = {
            "hnsw_m": m,
            "hnsw_ef_construction": ef_construction,
            "hnsw_dist_method": "vector_cosine_ops",
        }
        self.widen(ef_search)

    def widen(self, ef_search):
        self.store = self.make({**self.graph, "hnsw_ef_search": ef_search})
        self.store._initialize()  # what its first query does

    def search(self, vector, words, top_k, hybrid):
        from llama_index.core.vector_stores import VectorStoreQuery
        from llama_index.core.vector_stores.types import VectorStoreQueryMode

        query = VectorStoreQuery(
            query_embedding=vector,
            query_str=words if hybrid else None,
            similarity_top_k=top_k,
            sparse_top_k=top_k if hybrid else None,
            mode=VectorStoreQueryMode.HYBRID if hybrid else VectorStoreQueryMode.DEFAULT,
        )
        return self.store.query(query).ids


peer, questions = None, []
for line in sys.stdin:
    request = json.loads(line)
    if "url" in request:
        peer = {"langchain": LangChain, "llama": LlamaIndex}[request["peer"]](
            request["url"], request["dimension"]
        )
        answer = {"name": f"{peer.package} {version(peer.package)}"}
    elif "index" in request:
        peer.index(**request["index"])
        answer = {}
    elif "ef_search" in request:
        peer.widen(request["ef_search"])
        answer = {}
    elif "questions" in request:
        questions = request["questions"]
        answer = {}
    else:
        question = questions[request["at"]]
        begin = time.perf_counter()
        found = peer.search(**question, top_k=request["top_k"], hybrid=request["hybrid"])
        answer = {"seconds": time.perf_counter() - begin, "found": [str(one) for one in found]}
    print(json.dumps(answer), flush=True)
