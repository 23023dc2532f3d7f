"""The retrieval API: HTTP requests go in, calls of the stages are made, JSON comes out."""

from course_lib.service.app import create_app
from course_lib.service.config import ServiceConfig, new_key

__all__ = ["ServiceConfig", "create_app", "new_key"]
