"""The public surface: each name of `course_lib` that README, labs or `course --help` give to users.

The black-box tests import from here and from nowhere else in the project, so that everything that
is not named here can be moved, renamed or rewritten without touching them.
"""

from course_lib.answers import ContextOptions as ContextOptions
from course_lib.answers import Prompt as Prompt
from course_lib.answers import answer as answer
from course_lib.answers import boundary as boundary
from course_lib.answers import build_prompt as build_prompt
from course_lib.answers import count_tokens as count_tokens
from course_lib.answers import ensure_prompt_fits as ensure_prompt_fits
from course_lib.answers import extract_file_hints as extract_file_hints
from course_lib.answers import fence as fence
from course_lib.answers import file_manifest as file_manifest
from course_lib.answers import find_citations as find_citations
from course_lib.answers import generator as generator
from course_lib.answers import retrieve_context as retrieve_context
from course_lib.embedder import EmbeddingClient as EmbeddingClient
from course_lib.errors import CourseError as CourseError
from course_lib.errors import DatabaseError as DatabaseError
from course_lib.errors import InputError as InputError
from course_lib.evaluation import Corpus as Corpus
from course_lib.evaluation import compare as compare
from course_lib.evaluation import evaluate as evaluate
from course_lib.evaluation import indexed as indexed
from course_lib.evaluation import read_questions as read_questions
from course_lib.files import read_toml as read_toml
from course_lib.indexing import IngestOptions as IngestOptions
from course_lib.indexing import ingest as ingest
from course_lib.loader import Registry as Registry
from course_lib.loader import parse_code as parse_code
from course_lib.loader import read_documents as read_documents
from course_lib.loader import split_code as split_code
from course_lib.loader import split_document as split_document
from course_lib.loader import split_text as split_text
from course_lib.records import Chunk as Chunk
from course_lib.records import Document as Document
from course_lib.records import Scope as Scope
from course_lib.records import SearchResult as SearchResult
from course_lib.records import Span as Span
from course_lib.records import canonical as canonical
from course_lib.records import embedded_text as embedded_text
from course_lib.retriever import Query as Query
from course_lib.retriever import retrieve as retrieve
from course_lib.retriever import search as search
from course_lib.service import ServiceConfig as ServiceConfig
from course_lib.service import create_app as create_app
from course_lib.settings import CHUNK_OVERLAP as CHUNK_OVERLAP
from course_lib.settings import CHUNK_SIZE as CHUNK_SIZE
from course_lib.settings import project_root as project_root
from course_lib.settings import settings as settings
from course_lib.store import build_vector_indexes as build_vector_indexes
from course_lib.store import connect as connect
from course_lib.store import create_schema as create_schema
from course_lib.store import drop_schema as drop_schema
from course_lib.store import fresh_database as fresh_database
from course_lib.store import write_chunks as write_chunks
from course_lib.store.binaries import find_binaries as find_binaries
from course_lib.store.schema import SCHEMA as SCHEMA
from course_lib.store.writer import UPSERT_CHUNK as UPSERT_CHUNK
from course_lib.teaching.github_server import GitHubServer as GitHubServer
from course_lib.teaching.github_server import Repository as Repository
from course_lib.teaching.github_server import Sizes as Sizes
from course_lib.teaching.mine import overlay as overlay
from course_lib.teaching.taught import function_of as function_of
from course_lib.xray import Package as Package
from course_lib.xray import TableDescriber as TableDescriber
from course_lib.xray import create_tables as create_tables
from course_lib.xray import drop_tables as drop_tables
from course_lib.xray import find_lock_files as find_lock_files
from course_lib.xray import generation_prompt as generation_prompt
from course_lib.xray import sync_packages as sync_packages
from course_lib.xray import sync_project as sync_project
from tests import github_faults as faults  # noqa: F401
from tests.github_faults import FaultyGitHub as FaultyGitHub
