// What UEs are called: an interface has the name that the run, or else its scenario, gives it.

/** @typedef {Pick<import("studio/source").Run, "summary"> & {values?: Record<string, any>}} Named */

/** Names of interfaces in the form with several cells, in their order: as the core's `interface_names`. @param {Record<string, any>} [values] */
function interfacesOf(values) {
  return (values?.ue ?? []).flatMap((/** @type {{name: string, attach: string[]}} */ { name, attach }) =>
    attach.map((to) => (attach.length === 1 ? name : `${name} over ${to}`)));
}

/** What a UE, or one of its interfaces, is called: "walker", "phone over small"; "UE 3" where it has no name. @type {(run: Named, ue: number) => string} */
export function ueName({ summary, values }, ue) {
  return summary.flows.find((flow) => flow.ue === ue)?.interface ?? interfacesOf(values)[ue] ?? `UE ${ue}`;
}

/** Whose a place of the path is, the name of a cell or way: "macro" of "radio.dch macro". @param {string} place */
export const ownerOf = (place) => place.split(" ").slice(1).join(" ");
