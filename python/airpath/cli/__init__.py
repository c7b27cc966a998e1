"""The command line: a file for each command.

Modules: `main`, `arguments` (options of several commands), `output` (what commands print and write),
`status` (exit statuses), and a file for each command, imported when it is called.
"""
