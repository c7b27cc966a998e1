"""`airpath live`: the packets of real programs through a simulated bearer.

Two processes share the work. The driver, a process of its own (`driver`), makes the namespaces,
carries the packets and runs COMMAND. This process chooses what is run (`link`, `shell`), watches
(`session`), writes the files and shows the state (`watcher`, `screen`). They exchange frames on a socket.
"""
