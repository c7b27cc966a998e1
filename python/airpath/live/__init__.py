"""`airpath live`: the packets of real programs through a simulated bearer.

Two processes share the work. The driver, a process of its own (`driver`), makes the namespaces,
carries the packets and runs COMMAND. This process chooses what is run (`link`, `shell`), watches
(`session`), writes the files and shows the state (`watcher`, `screen`). They exchange frames on a socket.

Modules, lower to higher:
`link` (traces to a scenario), `shell`, `watcher`, `screen`, `control` (requests
of other programs that change the link), `session` (one thread that waits for frames,
signals and COMMAND's output), `terminal`, `driver` (the process and its language), `driver_main` (what it
executes), `doctor`, `ping` (round trips, for `airpath ping`), `transfer` (the program of `airpath
compare`); `apart` (a run in a process of its own), `radio_link` (a link in the hands of a Python program),
with `bench` (its run), `usher` (makes sockets and starts programs in a namespace) and `enter` (a program
there).
"""
