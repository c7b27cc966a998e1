"""`airpath live`: the packets of real programs through a simulated bearer.

Two processes share the work. The driver, a process of its own (`driver`), makes the namespaces,
carries the packets and runs COMMAND. This one chooses what is run (`command`, `link`, `shell`), watches
(`session`), writes the files, shows what happens (`view`, `screen`) and tells at the end what came of it
(`report`). Between them are frames on a socket (`frames`).
"""
