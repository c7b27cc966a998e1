// What Tab reaches: `layout.py` calls one of these at first, one after each press, and one at the end.
({
  begin: () => {
    window.tabbed = [];
    // Tab continues from where an element had the focus, even if it is gone.
    const start = document.createElement("span");
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
  },
  focused: () => {
    const own = document.activeElement;
    if (!own || own === document.body || window.tabbed.includes(own)) return null;
    window.tabbed.push(own);
    const {left, top, right, bottom, width, height} = own.getBoundingClientRect();
    const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(own);
    const name = own.getAttribute("aria-label") || own.labels?.[0]?.innerText || own.innerText || own.title || own.placeholder || "";
    return {
      name: name.replaceAll(/\s+/g, " ").trim().slice(0, 40), tag: own.tagName.toLowerCase(), id: own.id,
      marked: (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none",
      seen: width > 0 && height > 0 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight,
      positive: own.tabIndex > 0,
    };
  },
  missed: () => [...document.querySelectorAll("button, summary, select, textarea, a[href], input, [tabindex]")].filter((own) =>
    own.tabIndex >= 0 && !own.disabled && !own.closest("[inert]") && own.checkVisibility({visibilityProperty: true})
    && !window.tabbed.includes(own)).map((own) => `${own.tagName.toLowerCase()}#${own.id} ${own.innerText?.slice(0, 30)}`),
})
