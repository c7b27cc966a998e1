"""What people read: on the terminal and as a page."""
