"""Recordings of real links: read from the formats of others, described, and fitted by models."""
