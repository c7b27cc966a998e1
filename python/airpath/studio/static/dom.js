// Elements of the page. Text is only ever text: nothing that a run says is read as markup.

/**
 * Make an element; attributes that are null or false are left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | null | ((event: any) => void)>} [attributes]
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * The element of this id, which the page has.
 * @param {string} id
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/** A time in words, with one digit or two. @param {number} seconds */
export function lasting(seconds) {
  if (seconds < 99.5) return `${Math.max(Math.round(seconds), 1)} s`;
  if (seconds < 99.5 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 72 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${figure(seconds / 86400)} days`;
}

/** Remaining time of a task, given the completed share and the elapsed milliseconds. @type {(share: number, since: number) => string} */
export function timeLeft(share, since) {
  const seconds = (since / 1000) * (1 / share - 1);
  return Number.isFinite(seconds) ? `about ${lasting(seconds)} left` : "";
}

/**
 * A number in few digits, with a space between thousands.
 * @param {number} value
 * @param {number} [digits] after the point
 */
export function figure(value, digits = 0) {
  const [whole, part] = value.toFixed(digits).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (part ? `.${part}` : "");
}
