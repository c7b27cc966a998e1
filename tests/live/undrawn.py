"""The command `airpath` without its pictures, which take longer to draw than a short run takes.

An empty file replaces the picture. A test that looks at the picture starts the command itself.
"""

import sys

from airpath.__main__ import main
from airpath.drawing.picture import Picture

Picture.as_bytes = lambda *_, **__: b""
sys.argv[0] = "airpath"
main()
