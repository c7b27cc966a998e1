"""What is done with many runs."""
