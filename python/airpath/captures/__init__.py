"""Explains the TCP connections of a pcap or pcapng file: losses, models, and what limited them.

The analysis is Rust (`crates/analyze`); this package reads it and adds the throughput models.
"""

from airpath.captures.capture import analyze

__all__ = ["analyze"]
