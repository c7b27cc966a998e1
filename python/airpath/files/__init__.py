"""Files: written whole or not at all, and read up to a limit.

Modules: `folder` (folders held by descriptor, and their locks), `atomic` (files that are whole or not
there), `text` (text files that others wrote).
"""
