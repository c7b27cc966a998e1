"""Recording of one's own link between two hosts: `airpath record`.

Modules: `packets` (the protocol's octets), `saturator` (how much is in flight), `peer` (one end while a phase
runs), `control` (requests and results over TCP), `client` and `server`, `folder` (what is written). See
docs/reference/record.md.
"""
