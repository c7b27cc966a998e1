"""What all pictures share: their style, and the forms in which they are written.

Modules: `style`, and `picture` (a drawing as figure, file and part of a notebook).
"""
