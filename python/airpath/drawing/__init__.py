"""What all pictures share: their style, and the forms in which they are written."""
