"""Captures explained: what TCP did in a pcap or pcapng file, what models make of it, and what limited it.

The analysis itself is Rust (`crates/analyze`); here it is read, set beside the throughput models and shown.
"""

from airpath.analyze.capture import analyze

__all__ = ["analyze"]
