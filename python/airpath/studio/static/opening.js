// What is seen until the first run is there: its progress, the remaining time, and a cancel button. A scenario that
// someone else wrote may take hours.

import { byId, figure, make, timeLeft } from "studio/dom";

/** @typedef {import("studio/source").Source} Source */
/** @typedef {import("studio/source").Taker} Taker */

/** What is opened instead of a run that takes too long. */
const SHORT = { base: "umts-384", set: [], seed: 1 };

/**
 * Open the run of a source.
 * @param {Source} source
 * @param {Taker} taker
 */
export function openFirst({ open, engine }, taker) {
  const [said, ways] = [byId("opening-said"), byId("opening-ways")];
  const way = (/** @type {string} */ name, /** @type {() => void} */ click) => make("button", { type: "button", click }, name);

  /** @param {(taker: Taker) => {cancel(): void}} from */
  function begin(from) {
    const begun = performance.now();
    said.textContent = "Opening …";
    ways.replaceChildren();
    const opened = from({
      ...taker,
      progress({ share }) {
        said.textContent = ["Simulating the first run", `${figure(100 * share)} %`, timeLeft(share, performance.now() - begun)].filter(Boolean).join(", ");
        if (ways.children.length) return;
        ways.replaceChildren(way("Cancel", () => {
          opened.cancel();
          stop();
        }));
      },
    });
  }

  function stop() {
    said.textContent = "Stopped. To see a part of this run, make its duration shorter; 'airpath run' makes all of it, without this page.";
    ways.replaceChildren(way("Run it again", () => begin(open)), ...(engine ? [way(`Open ${SHORT.base}`, () => begin((own) => engine.run(SHORT, own)))] : []));
  }

  begin(open);
}
