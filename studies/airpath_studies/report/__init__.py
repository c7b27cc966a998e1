"""Reports of reproductions: `paper` (tables), `plots`, `page`, `explored` (free choices)."""
