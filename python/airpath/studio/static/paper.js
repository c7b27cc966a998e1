// A paper's published and measured values, with verdicts. Each line opens its first run.

import { figure as number, make } from "studio/dom";
import { draw } from "studio/figure";

/**
 * @typedef {object} Value
 * @property {string} what
 * @property {string | null} [place]
 * @property {number | null} published
 * @property {number | null} corrected
 * @property {number | null} measured
 * @property {number | null} ci_low
 * @property {number | null} ci_high
 * @property {number | null} runs
 * @property {string | null} unit
 * @property {string | null} verdict
 * @property {string | null} reason
 * @property {string | null} base
 * @property {string[] | null} set
 */
/**
 * What `airpath_studies/in_studio.py` reads of a reproduction.
 * @typedef {object} Paper
 * @property {"paper"} kind
 * @property {string} name
 * @property {string} title
 * @property {string} citation
 * @property {number} seed of the first run of each
 * @property {Value[]} values
 * @property {{place: string, claim: string, verdict: string, reason: string, measured: Value[]}[]} claims
 */

/** Symbols of verdicts next to their words, so that colour is not the only cue. @type {Record<string, string>} */
const SIGNS = {
  reproduced: "●", holds: "●", consistent: "◐", close: "◐", not_reproduced: "○", does_not_hold: "○", more_runs_needed: "…", not_checkable: "…", calibrated: "▢", calibrated_not_met: "▢", derived: "–", restated: "–",
};
/** The ratio's scale, from half to double. */
const HALF = Math.log(2);
const WIDE = 110;

export class PaperView {
  /**
   * @param {HTMLElement} place
   * @param {Paper} paper
   * @param {import("studio/sweep").Open} open
   */
  constructor(place, paper, open) {
    this.paper = paper;
    this.open = open;
    const verdicts = [...new Set([...paper.values, ...paper.claims].map(({ verdict }) => verdict).filter((own) => own !== null && own !== undefined))];
    this.verdict = make("select", { "aria-label": "Verdict" }, make("option", { value: "" }, "all verdicts"), ...verdicts.map((own) => make("option", { value: own }, words(own))));
    this.search = make("input", { type: "search", placeholder: "search", "aria-label": "Search in values" });
    this.count = make("span", { class: "quiet", "aria-live": "polite" });
    this.list = make("div", { class: "list-of", tabindex: 0, role: "group", "aria-label": "Values" });
    place.append(
      make("h2", {}, `${paper.title}: `, make("span", { class: "quiet" }, paper.citation)),
      make("div", { class: "fields-of" }, this.verdict, this.search, this.count),
      this.list,
    );
    this.verdict.addEventListener("change", () => this.draw());
    this.search.addEventListener("input", () => this.draw());
    this.draw();
  }

  draw() {
    const wanted = this.search.value.toLowerCase();
    const fits = (/** @type {{verdict: string | null}} */ own, /** @type {string} */ text) => (!this.verdict.value || own.verdict === this.verdict.value) && text.toLowerCase().includes(wanted);
    const values = this.paper.values.filter((own) => fits(own, `${own.place} ${own.what}`));
    const claims = this.paper.claims.filter((own) => fits(own, `${own.place} ${own.claim}`));
    const places = [...new Set(values.map((own) => own.place ?? ""))];
    this.count.textContent = `${values.length} values, ${claims.length} claims`;
    const table = make("table", {},
      make("thead", {}, make("tr", {}, ...["", "published", "measured", "measured ÷ published, ½ to 2", "verdict", ""].map((text) => make("th", { scope: "col" }, text)))),
      ...places.map((place) => make("tbody", {},
        make("tr", { class: "group-of" }, make("th", { colspan: 6, scope: "colgroup" }, place)),
        ...values.filter((own) => (own.place ?? "") === place).map((own) => this.row(own)))));
    const told = make("ul", { class: "claims-of" }, ...claims.map((own) => make("li", {},
      make("p", {}, make("span", { class: `verdict ${own.verdict}` }, SIGNS[own.verdict] ?? "", " ", words(own.verdict)), ` ${own.place}: ${own.claim}`),
      own.reason ? make("p", { class: "quiet" }, own.reason) : null,
      make("ul", { class: "measured-of" }, ...own.measured.map((each) => make("li", {}, `${each.what}: ${measured(each)} `, this.button(each)))))));
    this.list.replaceChildren(...(values.length ? [table] : []), ...(claims.length ? [make("h3", {}, "Claims"), told] : []));
  }

  /** @param {Value} own */
  row(own) {
    const target = own.corrected ?? own.published;
    return make("tr", { title: own.reason || null },
      make("td", {}, own.what), make("td", { class: "number" }, target === null || target === undefined ? "–" : `${short(target)} ${unitOf(own)}`),
      make("td", { class: "number" }, measured(own)), make("td", {}, target && own.measured !== null ? ratio(own, target) : null),
      make("td", { class: `verdict ${own.verdict ?? ""}` }, own.verdict ? `${SIGNS[own.verdict] ?? ""} ${words(own.verdict)}` : ""), make("td", {}, this.button(own)));
  }

  /** @param {Value} own */
  button({ base, set, what }) {
    if (base === null || !set) return null;
    return make("button", { type: "button", class: "small", "aria-label": `Open the first run of ${what}`, click: () => void this.open({ base, set, seed: this.paper.seed }) }, "Open");
  }
}

/** Where a measurement lies relative to the published value, on a logarithmic scale. @param {Value} own @param {number} target */
function ratio(own, target) {
  const at = (/** @type {number} */ value) => {
    const share = value / target;
    return share > 0 ? Math.min(Math.max(0.5 + Math.log(share) / (2 * HALF), 0), 1) * (WIDE - 8) + 4 : 4;
  };
  const x = at(/** @type {number} */ (own.measured));
  const hasInterval = typeof own.ci_low === "number" && typeof own.ci_high === "number";
  return draw(
    "svg", { width: WIDE, height: 16, class: "ratio", role: "img", "aria-label": `${short(/** @type {number} */ (own.measured) / target)} times the published value` },
    draw("path", { d: `M4 8H${WIDE - 4}M${WIDE / 2} 2V14`, class: "axis" }),
    draw("path", { d: hasInterval ? `M${at(own.ci_low ?? 0)} 8H${at(own.ci_high ?? 0)}` : "", class: "interval" }),
    draw("circle", { cx: x, cy: 8, r: 3.5, class: "dot-of" }),
  );
}

/** @param {Value} own */
function measured(own) {
  if (own.measured === null || own.measured === undefined) return "–";
  const half = own.ci_low === null || own.ci_low === undefined ? "" : ` ± ${short(own.measured - own.ci_low)}`;
  return `${short(own.measured)}${half} ${unitOf(own)}`.trimEnd();
}

/** @param {Value} own */
function unitOf({ unit }) {
  return unit === "percent" ? "%" : unit ?? "";
}

/** Three digits. @param {number} value */
function short(value) {
  const digits = value ? 2 - Math.floor(Math.log10(Math.abs(value))) : 0;
  return number(value, Math.min(Math.max(digits, 0), 6));
}

/** @param {string} verdict */
function words(verdict) {
  return verdict.replaceAll("_", " ");
}
