"""The maintainer's tools: the builder of the notebooks and drawings, the site, lock and licences.

`python -m infra.course --help` in the folder of the checkout lists them; `make build`, `make site`,
`make lock` and `make licences` call them. They are not installed with the library, which does
without them.
"""
