"""What the classroom does with a lab's notebooks: find, read, release and execute them.

They are built by the maintainer's tools in `infra/course`.
"""
