"""The studio: a run in a browser. Its front is `static/`; Python brings events and results to it.

Modules: `chunks` (events as bytes), `again` (events that a folder leaves out, from the run simulated
again), `facts` (facts about a run), `document` and `page` (a run, or an analysed capture, as one
HTML file); the server: `sources`, `sweeps` (what it offers), `attach` and `beside` (a live
run), `runs` and `reading`, `jobs` (work in threads), `messages` (requests of clients), `guard`
(access control), `serve`; and the front in `static/`.

The front is plain ES modules with types in JSDoc, shipped as written and checked by TypeScript in `make
lint`. A source (`source`) hands over a run and its events and does not draw; `store` is the only state, and
no screen knows where events come from or talks to another.

Modules of the front, lower to higher:
`dom`, `opening` (until the first run is there), `names` (of UEs), `menus`, `reduce` (as many points as
there are pixels), `events` (reads chunks), `source`, `settings` (changes of a scenario), `quantity`,
`graph` (places of a run, and who is in which cell), `schema`, `store`, `link` (all that is shown as an
address), `series` (events to lines), `lanes` (where things stand in the animation), `kinds` (the schema of
events, made of the core's), `words` (an event in a sentence), `search`, `order`, `packets`, `bearers`,
`slots` and `model` (events as objects with times), `paint`, `spans`, `panels` (what is plotted), `panel`,
`plots`, `strip` (the whole run in one line), `files`, `parquet`, `pcapng`, `rows` (a list whose rows are
elements only in view), `table`, `tape` (TTIs and reassembly), `blocks`, `standing` (the state of a
station), `queues`, `scene` (the path at an instant), `player`, `differences` (of settings), `flowlist`
(flows in order), `air` (the animation), `life` (the stops of a packet), `objects`, `flows`, `results`,
`phases` and `waterfall` (connections and requests over time), `fall` (those of a run), `compare`, `keys`,
`tabs`, `experiment` (edited settings and their runs), `field`, `form`, `text`, `bench` (presets, variants,
seed, progress), `share`, `lessons`, `lesson`, `figure`, `distributions` (of a captured flow), `sweep`,
`paper`, `studies`, `edit`, `follow` (a live run in progress), `steer` (changes it), `main`; `embed` (a
small model in a page of text) and `capture` (explains a capture, in the playground and in the page of
`airpath analyze`) begin pages of their own.

uPlot (in `vendor/`, with its licence) draws axes and grid and shares the pointer. A page has the modules
that it needs, under a policy that lets nothing else run. The server hands out the same document with the
modules as files, and answers JSON messages over a WebSocket; a run is simulated in a thread, and its chunks
are sent as the browser takes them. In the playground the worker `worker/engine.js` answers the same
messages, with the simulator as WebAssembly (`crates/wasm`). See docs/studio.md.

The animation asks `model` for an instant: packets, SDUs and PDUs with their times, made from the events and
the table of bearers. Events name packets, bearers and slots by number: nothing is inferred from headers and
times.
"""
