"""The public surface: each name of `course_lib` that README, labs or `course --help` give to users.

The black-box tests import from here and from nowhere else in the project, so that everything that
is not named here can be moved, renamed or rewritten without touching them.
"""

from course_lib.embedder import EmbeddingClient as EmbeddingClient
from course_lib.errors import InputError as InputError
from course_lib.loader import Registry as Registry
from course_lib.loader import read_documents as read_documents
from course_lib.loader import split_document as split_document
from course_lib.loader import split_text as split_text
from course_lib.records import Document as Document
from course_lib.records import TenantContext as TenantContext
from course_lib.retriever import retrieve as retrieve
from course_lib.retriever import search as search
from course_lib.settings import settings as settings
from course_lib.store import connect as connect
from course_lib.store import create_schema as create_schema
from course_lib.store import fresh_database as fresh_database
from course_lib.store import write_chunks as write_chunks
