"""The studio: a run in a browser. Its front is `static/`; Python brings events and results to it."""
