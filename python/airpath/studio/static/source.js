// Where a run comes from: it is written into the page, or it is made, by the server of `airpath studio` or by the
// simulator in the page. A source opens it and hands over what it finds; who shows it does not know which source it is.

/**
 * The part of a flow of `results.json` that the studio reads.
 * @typedef {{ue: number, interface?: string, flow: number, direction: string, app: string | null, start_s: number, transfer_s: number | null,
 *   goodput_bps: number | null, bytes_acked: number | null, bytes_received: number | null, segments_sent: number,
 *   retransmissions: Record<string, number | null>, timeouts: number | null,
 *   rtt_ms: Delays | null, one_way_delay_ms?: Delays, queueing_delay_ms?: Delays, web?: {waterfall?: any[]},
 *   datagrams?: object, quic?: object}} Flow
 */
/**
 * Delays of a flow; percentiles since airpath 0.2.
 * @typedef {{mean: number | null, min: number | null, max: number | null, samples: number, p50?: number | null,
 *   p90?: number | null, p95?: number | null, p99?: number | null}} Delays
 */
/**
 * One direction of a UE in a cell, which is the place `node` on the path; times are nanoseconds, and 0 of what the bearer does
 * not have, as `BearerRow` of the core says.
 * @typedef {{node: number, ue: number, direction: string, slot_ns: number, phase_ns: number, delay_ns: number,
 *   sequence_numbers: number, retransmits: boolean, shared: boolean}} BearerRow
 */
/**
 * Facts about a run in addition to its events; `airpath/studio/facts.py` writes it.
 * @typedef {object} Run
 * @property {string} title
 * @property {string | null} base listed name of the scenario that `changes` were made in; null if only its text is known
 * @property {string[]} names of the flows of `summary`
 * @property {number[]} chosen places of the flows to show first
 * @property {{seed: number, simulated_s: number, complete: boolean, flows: Flow[], elements: any[], live?: any,
 *   changes?: {at_s: number, what: string}[]}} summary
 * @property {string[]} path names of the places on the path, from the server to the UEs, which events call `element`
 * @property {BearerRow[]} bearers by the index that events call `bearer`
 * @property {[number, number][]} [edges] places of `path` that are next to each other, by their index, the one nearer to the server first; since
 *   airpath 0.2
 * @property {string} scenario TOML with every default
 * @property {boolean} cut whether `scenario` is only its begin
 * @property {string[] | null} changes arguments of `--set`; null if not known
 * @property {string} [what] `changes` in a few words, for titles
 * @property {Record<string, any>} facts of `manifest.json`
 * @property {Record<string, any>} values the scenario's values, every default too; without long texts and lists
 * @property {Problem[]} [remarks] what is valid in the scenario but seldom wanted, as `airpath run` remarks
 * @property {Record<string, number | null>} left_out kinds of event that had no room, and their rows if they are known
 * @property {boolean} [goes_on] of a live run that is followed: whether it is in progress
 * @property {Record<string, any>} [steered] of a live run that may be changed: the keys that may, with their values
 * @property {import("studio/phases").Told[] | null} waterfall what each connection did, phase by phase, from the run's packets;
 *   null if they were not analysed: an engine does that on request
 * @property {string | null} not_again why packets and SDUs were not simulated again, where the trace has none
 */
/** What a run is made from: a listed name or `text:` and TOML, changes as `key=value`. @typedef {{base: string, set: string[], seed: number}} Settings */
/** @typedef {{path: string, message: string, hint: string}} Problem */
/**
 * Takes what a source hands over, in this order: how far it is, the run, its events in chunks, its end; or a problem.
 * A live run sends the run and its latest events repeatedly.
 * @typedef {object} Taker
 * @property {(run: Run) => void} run
 * @property {(chunk: ArrayBuffer) => void} events
 * @property {() => void} ended
 * @property {(problem: Problem) => void} error
 * @property {(done: {share: number, now_s: number}) => void} [progress]
 */
/** A scenario that may be chosen; only this studio has a `local` one. @typedef {{name: string, about: string, group: string, local?: boolean}} Listed */
/**
 * Makes runs.
 * @typedef {object} Engine
 * @property {() => Promise<Listed[]>} scenarios
 * @property {() => Promise<object>} schema JSON Schema of scenarios
 * @property {() => Promise<import("studio/studies").Study[]>} studies sweeps and reproductions that were named
 * @property {(wanted: {base: string, set: string[]}) => Promise<{scenario: string, values: any} | {error: Problem}>} resolve
 *   a scenario with every default, as TOML and as values
 * @property {(base: string) => Promise<string>} text of a base, as any studio reads it; only a server has bases that need it
 * @property {boolean} isInPage whether it is the simulator in the page, whose address opens elsewhere too
 * @property {(wanted: Settings, taker: Taker) => {cancel(): void}} run
 * @property {(wanted: Settings) => Promise<import("studio/phases").Told[]>} waterfall of a run, which is simulated again for it
 * @property {(request: object) => Promise<{at_s: number, what: string, elements: number, values: Record<string, any>}>} change
 *   changes the live run that is shown, as `airpath control` does; only a server does that
 * @property {(capture: ArrayBuffer, most: number) => Promise<any>} analyze the output of `airpath analyze --json` for a
 *   capture; only the simulator in the page supports it
 */
/** A page that has its run in it has no engine. @typedef {{open(taker: Taker): {cancel(): void}, engine: Engine | null}} Source */

/**
 * The source of this page.
 * @param {Document} page
 * @returns {Source}
 */
export function sourceOf(page) {
  const engine = page.querySelector('script[data-of="engine"]');
  if (engine) return asked(worker(engine.textContent ?? ""), true);
  return page.querySelector("script[data-of]") ? embedded(page) : asked(server());
}

/**
 * What a run was made from; null if it is not known in full.
 * @param {Run} run
 * @returns {Settings | null}
 */
export function settingsOf({ base, changes, scenario, cut, summary: { seed } }) {
  if (base !== null && changes) return { base, set: changes, seed };
  return cut ? null : { base: `text:${scenario}`, set: [], seed };
}

/**
 * The run that is written into the page: deflated, in base64.
 * @param {Document} page
 * @returns {Source}
 */
function embedded(page) {
  const blocks = (/** @type {string} */ of) => [...page.querySelectorAll(`script[data-of="${of}"]`)];
  return {
    engine: null,
    open(taker) {
      void unpack(blocks, taker);
      return { cancel() {} };
    },
  };
}

/** @type {(blocks: (of: string) => Element[], taker: Taker) => Promise<void>} */
async function unpack(blocks, taker) {
  try {
    const [run] = blocks("run");
    taker.run(JSON.parse(new TextDecoder().decode(await unpacked(run))));
    for (const block of blocks("events")) {
      taker.events(await unpacked(block));
      block.remove(); // Its text is as large as the events.
    }
    taker.ended();
  } catch (error) {
    taker.error({ path: "page", message: `its run cannot be read: ${error}`, hint: "write the page again" });
  }
}

/**
 * What is deflated in a block of the page.
 * @param {Element} block
 * @returns {Promise<ArrayBuffer>}
 */
export async function unpacked(block) {
  const text = atob(block.textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Takes messages, and passes on responses with the request's ID; null if there will be no more. */
/** @typedef {(tell: (id: number | null, answer: any) => void) => (message: object) => void} Line */

/** Octets of the number behind each chunk. */
const NUMBER = 4;

/**
 * The key of this page, which opens the line: the first page has it in itself, and keeps it where only pages of this
 * address, port included, can read it, for a reload.
 * @returns {string}
 */
function pageKey() {
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="airpath-key"]'));
  try {
    if (meta) localStorage.setItem("airpath-key", meta.content);
    return localStorage.getItem("airpath-key") ?? "";
  } catch {
    return meta?.content ?? ""; // The browser keeps nothing.
  }
}

/**
 * The line to the server of `airpath studio`: JSON both ways, each message with the request's ID; chunks have it
 * at their end.
 * @returns {Line}
 */
function server() {
  const socket = new WebSocket(`ws://${location.host}/socket?key=${pageKey()}`);
  socket.binaryType = "arraybuffer";
  history.replaceState(null, "", `/${location.hash}`); // The token in the address has been used.
  const connected = new Promise((resolve) => socket.addEventListener("open", resolve));
  return (tell) => {
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") {
        const message = JSON.parse(data);
        tell(message.id, message);
      } else {
        tell(new DataView(data).getUint32(data.byteLength - NUMBER, true), { events: data });
      }
    });
    socket.addEventListener("close", () => tell(null, { error: GONE }));
    return (message) => {
      if (socket.readyState > WebSocket.OPEN) tell(null, { error: GONE });
      else void connected.then(() => socket.send(JSON.stringify(message)));
    };
  };
}

/**
 * The line to the simulator in a worker of the page.
 * @param {string} address
 * @returns {Line}
 */
function worker(address) {
  const own = new Worker(new URL(address, document.baseURI));
  return (tell) => {
    own.addEventListener("message", ({ data }) => tell(data.id, data));
    own.addEventListener("error", () => tell(null, { error: NO_ENGINE }));
    return (message) => own.postMessage(message);
  };
}

/**
 * Runs made on request. The facts about a run come when it is over, so events are kept until then.
 * @param {Line} line
 * @param {boolean} [isInPage] whether the simulator is in the page
 * @returns {Source}
 */
function asked(line, isInPage = false) {
  /** Who waits for what. @type {Map<number, (message: any) => void>} */
  const waiting = new Map();
  let last = 0;
  const send = line((id, told) => {
    if (id !== null) waiting.get(id)?.(told);
    else {
      for (const tell of waiting.values()) tell(told);
      waiting.clear();
    }
  });

  /** @type {(message: object, tell: (message: any) => void) => number} */
  function ask(message, tell) {
    const id = (last += 1);
    waiting.set(id, tell);
    send({ ...message, id });
    return id;
  }

  /** @type {(message: object) => Promise<any>} */
  const answer = (message) => new Promise((resolve, reject) => {
    const id = ask(message, (told) => {
      if (told.progress) return;
      waiting.delete(id);
      if (told.error) reject(told.error);
      else resolve(told.answer);
    });
  });

  /** @type {(message: object, taker: Taker) => {cancel(): void}} */
  function run(message, taker) {
    /** @type {ArrayBuffer[]} */
    let chunks = [];
    const id = ask(message, (told) => {
      if (told.events) chunks.push(told.events);
      else if (told.progress) taker.progress?.(told.progress);
      else if (told.again) chunks = [];
      else if (told.run) {
        taker.run(told.run);
        chunks.forEach(taker.events);
        chunks = [];
      } else {
        waiting.delete(id);
        if (told.error) taker.error(told.error);
        else taker.ended();
      }
    });
    return {
      cancel() {
        if (waiting.delete(id)) send({ do: "cancel", id });
      },
    };
  }

  return {
    open: (taker) => run({ do: "open" }, taker),
    engine: {
      scenarios: () => answer({ do: "scenarios" }),
      schema: () => answer({ do: "schema" }),
      studies: () => answer({ do: "studies" }),
      resolve: ({ base, set }) => answer({ do: "resolve", base, set }).catch((error) => ({ error })),
      text: (base) => answer({ do: "text", base }),
      isInPage,
      run: ({ base, set, seed }, taker) => run({ do: "run", base, set, seed }, taker),
      waterfall: ({ base, set, seed }) => answer({ do: "waterfall", base, set, seed }),
      change: (request) => answer({ do: "change", change: request }),
      analyze: (capture, most) => answer({ do: "analyze", capture, most }),
    },
  };
}

/** @type {Problem} */
const GONE = { path: "airpath studio", message: "it has ended, or this page is not let in", hint: "start it again" };
/** @type {Problem} */
const NO_ENGINE = { path: "engine", message: "the simulator cannot be loaded", hint: "use a current browser, or airpath studio" };
