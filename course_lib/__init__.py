"""The helper library of the course: the final version of everything that the labs build.

Importing this package imports nothing else, so that it costs nothing: each stage lives in a folder
of its own (``loader``, ``embedder``, ``store``, ``indexing``, ``retriever``, …) and is imported by
whoever needs it.
"""

__version__ = "0.1.0"
