"""The process that carries the packets of `airpath live`: a bare interpreter around the compiled driver.

It runs as `python -I -S driver_main.py FD` and imports nothing of the package: namespaces need a process
with a single thread, and the package's imports start threads.
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path


def main() -> None:
    """Load the compiled core from the package and hand it the socket."""
    package = Path(__file__).resolve().parent.parent
    # In the order of the import system.
    core = next(file for suffix in EXTENSION_SUFFIXES if (file := package / f"_core{suffix}").is_file())
    spec = spec_from_loader("_core", ExtensionFileLoader("_core", str(core)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.live_driver(int(sys.argv[1]))


if __name__ == "__main__":
    main()
