"""Builds the site: `python -m website`, which `make site` calls.

Zensical makes HTML of Markdown. It has no generators yet, so what the documents leave to the machine is put
into them before: `pages` takes them from the repository and fits their links, `tutorial` runs their commands,
`reference` writes lists from the code. `check` then reads the HTML: links, anchors, pictures, and no request
to elsewhere. Everything is in build/site: `pages` and `html`.
"""
