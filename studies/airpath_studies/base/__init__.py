"""What papers are made of."""
