"""What people read: on the terminal and as a page.

Modules: `document` (a report as plain data: headings, notes, tables, pictures), shown by `terminal` or as a
page by `html`; a module for each report.
"""
