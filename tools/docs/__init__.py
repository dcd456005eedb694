"""The docs site: the pages of docs/, and pages made from manual pages, parsers, docstrings and the JSON schema.

`python -m tools.docs build/docs` writes Markdown and a configuration; MkDocs makes the site of it (`make docs`).
"""
