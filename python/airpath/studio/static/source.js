// Where a run comes from. A source opens it and hands over what it finds; who shows it does not know which source
// it is. So far there is one: the run that is written into the page.

/**
 * A flow of `results.json`, as far as the studio reads it.
 * @typedef {{ue: number, flow: number, direction: string, app: string | null, start_s: number, transfer_s: number | null,
 *   goodput_bps: number | null, bytes_acked: number | null, bytes_received: number | null, segments_sent: number,
 *   retransmissions: Record<string, number | null>, timeouts: number | null,
 *   rtt_ms: {mean: number | null, min: number | null, max: number | null, samples: number} | null}} Flow
 */
/**
 * What is known of a run beside its events; `airpath/studio/page.py` writes it.
 * @typedef {object} Run
 * @property {string} title
 * @property {string[]} names of the flows of `summary`
 * @property {number[]} chosen places of the flows to show first
 * @property {{seed: number, simulated_s: number, complete: boolean, flows: Flow[], elements: any[], live?: any}} summary
 * @property {string[]} path names of the places on the path, from the server to the UEs, which events call `element`
 * @property {string} scenario TOML with every default
 * @property {boolean} cut whether `scenario` is only its begin
 * @property {string[] | null} changes arguments of `--set`; null if not known
 * @property {Record<string, any>} facts of `manifest.json`
 * @property {Record<string, number>} left_out kinds of event that had no room, and their rows
 */
/** What a run was made from: a bundled name or `text:` and TOML, changes as `key=value`. @typedef {{base: string, set: string[], seed: number}} Settings */
/** @typedef {{path: string, message: string, hint: string}} Problem */
/**
 * Takes what a source hands over, in this order: the run, its events in chunks, its end; or a problem.
 * @typedef {{run(run: Run): void, events(chunk: ArrayBuffer): void, ended(): void, error(problem: Problem): void}} Taker
 */
/** @typedef {{open(taker: Taker): Promise<void>}} Source */

/**
 * The run that is written into the page: deflated, in base64.
 * @param {Document} page
 * @returns {Source}
 */
export function embedded(page) {
  const blocks = (/** @type {string} */ of) => [...page.querySelectorAll(`script[data-of="${of}"]`)];
  return {
    async open(taker) {
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
    },
  };
}

/**
 * @param {Element} block
 * @returns {Promise<ArrayBuffer>}
 */
async function unpacked(block) {
  const text = atob(block.textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
