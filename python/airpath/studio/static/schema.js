// What may be set in a scenario: fields, made from the JSON Schema of the core and the values of a scenario. Names,
// defaults, words and explanations are the schema's; nothing of them is written here.

import { inline } from "studio/settings";

/** @typedef {{name: string, about: string}} Choice */
/**
 * A field of the form.
 * @typedef {object} Field
 * @property {string} key dotted, as `--set` takes it
 * @property {string} name its last part
 * @property {"table" | "component" | "words" | "quantity" | "share" | "number" | "flag" | "text" | "list" | "raw"} shape
 * @property {string} about
 * @property {any} value undefined where there is none
 * @property {any} fallback the default, if there is one
 * @property {boolean} optional whether there may be no value
 * @property {boolean} isWhole of a number: whether it is a whole one
 * @property {string[]} units
 * @property {Choice[]} choices of words, of a component, and of the components that a list may have
 * @property {Field[]} children
 */

/** Keys of scenarios with one cell, and of those with several: the core takes no scenario with keys of both. */
const OF_ONE_CELL = ["wired", "middlebox", "radio", "umts"];
const OF_SEVERAL = ["way", "cell", "ue", "mobility"];

export class Schema {
  /** @param {any} root JSON Schema of a scenario */
  constructor(root) {
    this.root = root;
  }

  /**
   * The fields that a scenario may have in addition to its values.
   * @param {any} values
   * @returns {Field[]}
   */
  fields(values) {
    const left = OF_SEVERAL.some((key) => values[key]) ? OF_ONE_CELL : OF_SEVERAL;
    return this.inside(this.root, values, "").filter(({ key }) => !left.includes(key));
  }

  /** @param {any} node @returns {any} */
  open(node) {
    if (!node.$ref) return node;
    const { $ref, ...own } = node;
    return { ...this.open(this.root.$defs[$ref.split("/").at(-1)]), ...own };
  }

  /** @type {(table: any, values: any, key: string) => Field[]} */
  inside(table, values, key) {
    return Object.entries(table.properties ?? {}).map(([name, node]) => this.field(node, values?.[name], key ? `${key}.${name}` : name, name));
  }

  /** @type {(given: any, value: any, key: string, name: string) => Field} */
  field(given, value, key, name) {
    let node = this.open(given);
    const own = value === null || value === "absent" ? undefined : value;
    /** @type {Field} */
    const field = {
      key, name, shape: "raw", about: plain(node.description ?? ""), value: own, fallback: node.default, optional: false, isWhole: false,
      units: [], choices: [], children: [],
    };
    const inner = node.anyOf?.find((/** @type {any} */ one) => one.type !== "null");
    if (node.anyOf?.length === 2 && inner && node.anyOf.some((/** @type {any} */ one) => one.type === "null")) {
      field.optional = true;
      node = this.open(inner);
    }
    // One value for all, or a list with one for each: a list is shown as it is written.
    if (node.anyOf?.length === 2 && node.anyOf[1].type === "array" && !Array.isArray(own)) node = this.open(node.anyOf[0]);
    const types = [node.type].flat();
    if (types.includes("null")) field.optional = true;
    const components = this.components(node);
    if (components.length) {
      const chosen = typeof own === "string" ? own : Object.keys(own ?? {})[0];
      const parameters = node.oneOf.map((/** @type {any} */ one) => one.properties?.[chosen ?? ""]).find(Boolean);
      field.shape = "component";
      field.choices = components;
      field.value = chosen;
      if (parameters) field.children = this.inside(this.open(parameters), own[chosen], `${key}.${chosen}`);
    } else if (node.oneOf?.every((/** @type {any} */ one) => "const" in one)) {
      field.shape = "words";
      field.choices = node.oneOf.map((/** @type {any} */ one) => ({ name: one.const, about: plain(one.description ?? "") }));
    } else if (node.type === "object") {
      field.shape = "table";
      if (own !== undefined || !field.optional) field.children = this.inside(node, own, key);
    } else if (node.type === "array" && this.isTables(node.items)) {
      field.shape = "list";
      field.choices = this.components(this.open(node.items));
      field.children = (own ?? []).map((/** @type {any} */ item, /** @type {number} */ n) => this.field(node.items, item, `${key}[${n}]`, `${name}[${n}]`));
    } else if (node.type === "boolean") field.shape = "flag";
    else if (types.includes("string") && node.pattern?.includes("%")) field.shape = "share";
    else if (types.includes("string") && node.examples) {
      field.shape = "quantity";
      field.units = (/\(([^()]*)\)\$$/.exec(node.pattern)?.[1] ?? /([A-Za-z]+)\$$/.exec(node.pattern)?.[1] ?? "").split("|");
    } else if (types.includes("string")) field.shape = "text";
    else if (types.includes("number") || types.includes("integer")) {
      field.shape = "number";
      field.isWhole = types.includes("integer");
    }
    return field;
  }

  /** @param {any} items */
  isTables(items) {
    const node = this.open(items);
    return node.type === "object" || this.components(node).length > 0;
  }

  /** The alternative components of a choice; empty if the node is not a choice. @param {any} node @returns {Choice[]} */
  components(node) {
    const all = (node.oneOf ?? []).filter((/** @type {any} */ one) => one.type === "object" || one.enum);
    if (!all.length || all.length !== node.oneOf.length) return [];
    return all.filter((/** @type {any} */ one) => one.type === "object").map((/** @type {any} */ one) => {
      const [[name, parameters]] = Object.entries(one.properties);
      return { name, about: plain(this.open(parameters).description ?? "") };
    });
  }
}

/** Text without the marks of code and line ends. @param {string} text */
function plain(text) {
  return text.replaceAll("`", "").replaceAll("\n", " ");
}

/** A value as a field shows it. @param {any} value */
export function shown(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? inline(value) : String(value);
}
