// The simulator in the page: WebAssembly in a worker, which handles the messages of `airpath studio`'s server. It has no
// imports, since import maps do not reach workers. `engine.json` next to it has the data that the server gets from Python
// (`tools/playground.py`); `crates/wasm` describes the functions of `engine.wasm`.

/**
 * @typedef {object} Settings
 * @property {object[]} scenarios as listed
 * @property {object} schema
 * @property {string} first scenario to open
 * @property {string} text what a base begins with that is the text of a scenario
 * @property {string[]} by_need kinds of event, those needed most first
 * @property {number} most_events of a run, which the page is given
 * @property {number} chunk_events
 * @property {number} tell_s
 * @property {number} aim
 * @property {{first_step_s: number, longest_step_s: number, many_events: number, few_events: number}} pace
 * @property {{flows: number, scenario: number, text: number, items: number}} most
 */

/** Places of the arguments in memory. */
const TEXT = 0;
const LIST = 1;
/** A name that a message repeats: short, and without markup. */
const PLAIN_NAME = /^[^<>&"'\x00-\x1f\x7f]{1,80}$/;

const utf8 = { of: new TextEncoder(), to: new TextDecoder() };

/** The functions of the engine, with text and JSON instead of addresses. */
class Engine {
  /** @param {any} functions */
  constructor(functions) {
    this.functions = functions;
  }

  /** @param {number} which @param {Uint8Array} octets */
  put(which, octets) {
    const at = this.functions.input(which, octets.length);
    new Uint8Array(this.functions.memory.buffer, at, octets.length).set(octets);
  }

  octets() {
    const { memory, answer, answer_len } = this.functions;
    return new Uint8Array(memory.buffer, answer(), answer_len()).slice();
  }

  json() {
    return JSON.parse(utf8.to.decode(this.octets()));
  }

  /** Call a function that may fail. @param {string} name @param {...any} numbers */
  call(name, ...numbers) {
    if (this.functions[name](...numbers)) throw this.json();
  }

  about() {
    this.functions.about();
    return this.json();
  }

  /** @param {string} text @param {string[][]} changes */
  resolve(text, changes) {
    this.put(TEXT, utf8.of.encode(text));
    this.put(LIST, utf8.of.encode(JSON.stringify(changes)));
    this.call("resolve");
    return this.json();
  }

  /** @param {string} text @param {number} seed @param {string[]} probes @param {boolean} [andAnalyse] its packets */
  start(text, seed, probes, andAnalyse = false) {
    this.put(TEXT, utf8.of.encode(text));
    this.put(LIST, utf8.of.encode(JSON.stringify(probes)));
    this.call("start", BigInt(seed), Number(andAnalyse));
  }

  chunk() {
    this.functions.take_chunk();
    return this.octets().buffer;
  }

  results() {
    this.functions.results();
    return this.json();
  }

  waterfall() {
    this.call("waterfall");
    return this.json();
  }

  /** @param {Uint8Array} capture @param {number} most connections in full */
  analyze(capture, most) {
    this.put(TEXT, capture);
    this.call("analyze", most);
    return this.json();
  }
}

/** @param {string} name */
async function file(name) {
  const answer = await fetch(new URL(name, self.location.href));
  if (!answer.ok) throw { path: name, message: `cannot be loaded: ${answer.status}`, hint: "make the playground again" };
  return answer;
}

/** @returns {Promise<{engine: Engine, settings: Settings, about: any}>} */
async function load() {
  const [zipped, settings] = await Promise.all([file("engine.wasm.gz"), file("engine.json").then((answer) => answer.json())]);
  const octets = zipped.body?.pipeThrough(new DecompressionStream("gzip"));
  const { instance } = await WebAssembly.instantiate(await new Response(octets).arrayBuffer());
  const engine = new Engine(instance.exports);
  return { engine, settings, about: engine.about() };
}

const loaded = load();
/** Messages that wait for a run, or are run. @type {Set<number>} */
const wanted = new Set();
/** One run is made at a time. */
let turn = Promise.resolve();

/** @param {number} id @param {object} content @param {Transferable[]} [owned] */
function tell(id, content, owned = []) {
  /** @type {any} */ (self).postMessage({ id, ...content }, owned);
}

self.addEventListener("message", async ({ data }) => {
  const { do: what, id } = data;
  try {
    const { engine, settings, about } = await loaded;
    if (what === "cancel") wanted.delete(id);
    else if (what === "scenarios") tell(id, { answer: settings.scenarios });
    else if (what === "schema") tell(id, { answer: settings.schema });
    else if (what === "studies") tell(id, { answer: [] });
    else if (what === "analyze") tell(id, { answer: engine.analyze(new Uint8Array(data.capture), data.most ?? 100) });
    else {
      const chosen = choose(engine, settings, about, data.base ?? settings.first, data.set ?? []);
      const { scenario, values } = chosen;
      if (what === "resolve") tell(id, { answer: { scenario, values } });
      else {
        wanted.add(id);
        const make = what === "waterfall" ? fall : run;
        turn = turn.then(() => make(id, chosen, data.seed ?? 1)).catch((problem) => tell(id, { error: problemOf(problem) }));
      }
    }
  } catch (problem) {
    tell(id, { error: problemOf(problem) });
  }
});

/** @param {any} problem */
function problemOf(problem) {
  if ("hint" in problem) return problem;
  return { path: "engine", message: String(problem), hint: "load the page again" };
}

/** @typedef {{title: string, base: string | null, changes: string[] | null, scenario: string, values: any, path: string[], edges: number[][], bearers: import("studio/source").BearerRow[], remarks?: import("studio/source").Problem[]}} Chosen */

/**
 * @param {Engine} engine @param {Settings} settings @param {any} about
 * @param {string} base @param {string[]} set
 * @returns {Chosen}
 */
function choose(engine, settings, about, base, set) {
  const isText = base.startsWith(settings.text);
  const source = isText ? base.slice(settings.text.length) : about.scenarios[base];
  if (source === undefined) throw unknown(base);
  const changes = set.map((change) => {
    const at = change.indexOf("=");
    const key = change.slice(0, Math.max(at, 0)).trim();
    if (!key) throw { path: "set", message: "a change does not name a key and its value", hint: "write key=value" };
    return [key, change.slice(at + 1).trim()];
  });
  const resolved = engine.resolve(source, changes);
  return { title: isText ? "own text" : base, base: isText ? null : base, changes: isText ? null : set, ...resolved };
}

/** What a base is that is not listed: `airpath/studio/sources.py`. @param {string} base @returns {import("studio/source").Problem} */
function unknown(base) {
  if (!PLAIN_NAME.test(base)) return { path: "base", message: "nothing of this name is listed", hint: "choose a name that is listed" };
  const kind = base.endsWith(".toml") ? "file" : base.includes("/") ? "run" : "";
  if (!kind) return { path: "base", message: `no scenario is called ${base}`, hint: "choose a name that is listed" };
  return { path: "base", message: `${base} is a ${kind} of another studio`, hint: `open the ${kind} with 'airpath studio', or ask for a link with its text` };
}

/**
 * Run with all probes that the page has room for: `airpath/studio/runs.py`.
 * @param {number} id @param {Chosen} chosen @param {number} seed
 */
async function run(id, chosen, seed) {
  const { engine, settings, about } = await loaded;
  const { functions } = engine;
  let kinds = settings.by_need;
  const begin = performance.now();
  let told = begin;
  /** @type {Record<string, number>} */
  let rows;
  const total = () => Object.values(rows).reduce((sum, own) => sum + own, 0);
  for (;;) {
    if (!wanted.has(id)) return;
    engine.start(chosen.scenario, seed, kinds);
    rows = {};
    let step = settings.pace.first_step_s;
    let isOver = false;
    while (!isOver && total() <= settings.most_events) {
      const before = functions.recorded();
      isOver = Boolean(functions.advance(step));
      const events = functions.recorded() - before;
      if (events > settings.pace.many_events) step /= 2;
      else if (events < settings.pace.few_events) step = Math.min(2 * step, settings.pace.longest_step_s);
      if (performance.now() > told + 1000 * settings.tell_s) {
        told = performance.now();
        tell(id, { progress: { share: functions.progress(), now_s: functions.now_s() } });
        await new Promise((next) => setTimeout(next)); // Lets messages in: the run may be cancelled.
        if (!wanted.has(id)) return;
      }
      if (functions.recorded() >= settings.chunk_events || isOver) {
        const chunk = engine.chunk();
        for (const [kind, own] of countsOf(chunk)) rows[kind] = (rows[kind] ?? 0) + own;
        tell(id, { events: chunk }, [chunk]);
      }
    }
    if (total() <= settings.most_events) break;
    if (kinds.length === 1) {
      const message = `the run has more than ${settings.most_events / 1e6} million events of one kind`;
      throw { path: "duration", message, hint: "make it shorter, or use 'airpath run'" };
    }
    const share = Math.max(functions.progress(), 1e-3);
    kinds = thatFit(kinds.map((kind) => [kind, (rows[kind] ?? 0) / share]), settings.aim * settings.most_events);
    tell(id, { again: true });
  }
  const summary = engine.results();
  const { airpath, rng } = about;
  const facts = { airpath, rng, seed: summary.seed, elapsed_s: Number(((performance.now() - begin) / 1000).toFixed(4)) };
  const leftOut = Object.fromEntries(settings.by_need.filter((kind) => !kinds.includes(kind)).map((kind) => [kind, null]));
  wanted.delete(id);
  tell(id, { run: { ...known(chosen, summary, settings.most), facts, left_out: leftOut, waterfall: null } });
  tell(id, { ended: true });
}

/**
 * Run for the waterfall alone.
 * @param {number} id @param {Chosen} chosen @param {number} seed
 */
async function fall(id, chosen, seed) {
  const { engine, settings } = await loaded;
  engine.start(chosen.scenario, seed, [], true);
  let told = performance.now();
  while (!engine.functions.advance(settings.pace.first_step_s)) {
    if (performance.now() <= told + 1000 * settings.tell_s) continue;
    await new Promise((next) => setTimeout(next)); // Lets messages in.
    told = performance.now();
  }
  wanted.delete(id);
  tell(id, { answer: engine.waterfall() });
}

/**
 * Rows of each kind in a chunk.
 * @param {ArrayBuffer} chunk
 * @returns {[string, number][]}
 */
function countsOf(chunk) {
  const header = new Uint8Array(chunk, 4, new DataView(chunk).getUint32(0, true));
  return Object.entries(JSON.parse(utf8.to.decode(header))).map(([kind, { rows }]) => [kind, rows]);
}

/** @param {[string, number][]} rows @param {number} most @returns {string[]} */
function thatFit(rows, most) {
  const kinds = [];
  for (const [kind, count] of rows) {
    if (kinds.length && count > most) break;
    kinds.push(kind);
    most -= count;
  }
  return kinds;
}

/**
 * Facts about a run in addition to its events: `airpath/studio/facts.py`.
 * @param {Chosen} chosen @param {any} summary @param {Settings["most"]} most
 */
function known({ title, base, changes, scenario, values, path, edges, bearers, remarks = [] }, summary, most) {
  const flows = summary.flows.flatMap(pathsOf);
  return {
    title, base, changes, what: described(changes ?? []), names: namesOf(summary.flows, values), chosen: busiest(flows, most.flows), path, edges, bearers, remarks,
    summary: { ...summary, flows },
    values: short(values, most), scenario: scenario.slice(0, most.scenario), cut: scenario.length > most.scenario, not_again: null,
  };
}

/** Name changes in a few words: `airpath/runs/changes.py`. @param {string[]} changes */
function described(changes) {
  const words = changes.slice(0, 3).map((change) => {
    const [key, ...value] = change.split("=");
    const line = value.join("=").split(/\s+/).filter(Boolean).join(" ");
    return `${key} = ${line.length <= 32 ? line : `${line.slice(0, 32 - 3)}...`}`;
  }).join(", ");
  return changes.length > 3 ? `${words} and ${changes.length - 3} more` : words;
}

/** Leave out long texts and lists. @param {any} value @param {Settings["most"]} most @returns {any} */
function short(value, most) {
  if (Array.isArray(value)) return value.slice(0, most.items).map((own) => short(own, most));
  if (typeof value === "string") return value.slice(0, most.text);
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, short(own, most)]));
}

/** Places of the flows that carried most. @param {any[]} flows @param {number} most */
function busiest(flows, most) {
  const carried = flows.map((flow) => Math.max(flow.bytes_acked ?? 0, flow.bytes_received ?? 0));
  const ranked = flows.map((_, place) => place).sort((one, other) => carried[other] - carried[one]);
  return ranked.slice(0, most).sort((one, other) => one - other);
}

/** Paths of a connection, each as a flow: `airpath/runs/flows.py`. @param {any} flow @returns {any[]} */
function pathsOf(flow) {
  if (!("multipath" in flow)) return [flow];
  const { multipath, ...whole } = flow;
  return multipath.subflows.map((/** @type {any} */ path) => ({
    ...whole, ...path, goodput_bps: flow.goodput_bps * path.share, bytes_acked: path.bytes, bytes_received: path.bytes, queueing_delay_ms: null,
  }));
}

/** Name each path of each flow by its UE and its congestion control: `airpath/runs/flows.py`. @param {any[]} flows @param {any} scenario */
function namesOf(flows, scenario) {
  /** @type {Map<number, {waiting: any[], current: any}>} */
  const ues = new Map();
  const paths = flows.flatMap(pathsOf);
  return flows.flatMap((flow) => {
    const its = (/** @type {any} */ { ue }) => ue === flow.ue || ue === "each";
    const own = ues.get(flow.ue) ?? { waiting: (scenario.flow ?? []).filter(its), current: null };
    ues.set(flow.ue, own);
    // A web page has several flows.
    if (flow.app !== "web" || "web" in flow) own.current = own.waiting.shift();
    const what = "datagrams" in flow ? flow.app : Object.keys((own.current?.tcp ?? scenario.tcp).cc).join(", ");
    return pathsOf(flow).map((path) => {
      const several = paths.filter(({ ue }) => ue === path.ue).length > 1;
      const whose = `${path.interface ?? `UE ${path.ue}`}${several ? ` flow ${path.flow}` : ""}`;
      return what ? `${whose}: ${what}` : whose;
    });
  });
}
