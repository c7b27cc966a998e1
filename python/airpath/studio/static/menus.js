// Menus that open over the page, `details` of the class `pops`: a click outside closes it, and so does Esc, wherever the
// focus is.

/** Have all menus of the page close. */
export function listenToMenus() {
  const open = () => /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.pops[open]")]);
  document.addEventListener("click", (event) => {
    for (const menu of open()) if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  // Before anything else that Esc does.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    const menus = open();
    if (!menus.length) return;
    event.stopPropagation();
    event.preventDefault();
    for (const menu of menus) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  }, { capture: true });
}
