"""Pictures of a reproduction page."""
