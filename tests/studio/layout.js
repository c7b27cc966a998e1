// Looks for faults of layout in a page as it is shown now; `layout.py` calls it in the browser and has the rules in words.
({ withContrast, scrolls }) => {
  const SLACK = 1.5;
  const LEAST_TARGET = 24;
  const LEAST_FIELD = 60;
  const found = new Map();
  const CONTROLS = "button, summary, select, textarea, a[href], input:not([type=hidden]), [role=tab], [role=option]";
  const root = document.querySelector("dialog:modal") ?? document.body;
  const page = document.documentElement;
  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const classOf = (element) => (element.getAttribute("class") ?? "").trim().replaceAll(/\s+/g, ".");
  const nameOf = (element) => {
    const near = element.closest("[id]");
    const own = element.id ? `#${element.id}` : `${near ? `#${near.id} ` : ""}${element.tagName.toLowerCase()}${classOf(element) ? `.${classOf(element)}` : ""}`;
    const text = (element.innerText || element.textContent || element.getAttribute("aria-label") || element.placeholder || "").replaceAll(/\s+/g, " ").trim().slice(0, 40);
    return text ? `${own} “${text}”` : own;
  };
  // One line for each kind of fault and kind of element: the first is named, the others are counted.
  const tell = (kind, element, more = "") => {
    const near = element.closest("[id]");
    const key = `${kind} ${near?.id.replaceAll(/\d+/g, "0")} ${element.tagName} ${classOf(element)}`;
    const known = found.get(key);
    if (known) known.count += 1;
    else found.set(key, { text: `${kind}: ${nameOf(element)}${more ? `, ${more}` : ""}`, count: 1 });
  };
  const isShown = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest("[inert], [hidden], script, style, noscript, option")) return false;
    for (let own = element; own && own !== page; own = own.parentElement) {
      // For screen readers only.
      if (styleOf(own).clipPath !== "none" && own.offsetWidth <= 1) return false;
    }
    return true;
  };
  const isFixed = (element) => styleOf(element).position === "fixed" || element.matches("dialog:modal");
  // What lies above the rest of the page: menus, dialogs, sticky headings.
  const layerOf = (element) => {
    for (let own = element; own && own !== document.body; own = own.parentElement) {
      const { position, zIndex } = styleOf(own);
      if (own.matches("dialog") || position === "fixed" || position === "sticky" || (position === "absolute" && zIndex !== "auto")) return own;
    }
    return document.body;
  };
  const padding = (element) => {
    const { left, top } = element.getBoundingClientRect();
    const [x, y] = [left + element.clientLeft, top + element.clientTop];
    return { left: x, top: y, right: x + element.clientWidth, bottom: y + element.clientHeight };
  };

  // What is left of a box inside all that clips it; faults are told where no scrolling brings the rest into view.
  function shownPart(element, { left, top, right, bottom }, what) {
    const part = { left, top, right, bottom };
    let [isFreeX, isFreeY] = [false, false];
    let leaves = null; // From an absolutely placed element up to what it is placed in nothing clips.
    let isAtWindow = false;
    for (let own = element; own && own !== page; own = own.parentElement) {
      const style = styleOf(own);
      const isPlace = style.position !== "static" || style.transform !== "none";
      if (!(leaves && !isPlace) && own !== document.body) {
        leaves = null;
        const box = padding(own);
        const [hidesX, hidesY] = [style.overflowX, style.overflowY].map((value) => /hidden|clip/.test(value));
        const [scrollsX, scrollsY] = [style.overflowX, style.overflowY].map((value) => /auto|scroll/.test(value));
        if (hidesX && !isFreeX && (left < box.left - SLACK || right > box.right + SLACK)) tell(`${what} is cut`, element, `in ${nameOf(own)}`);
        if (hidesY && !isFreeY && (top < box.top - 2 * SLACK || bottom > box.bottom + 2 * SLACK)) tell(`${what} is cut in height`, element, `in ${nameOf(own)}`);
        if (scrollsX && !isFreeX) {
          const isOut = (right > box.right + SLACK || left < box.left - SLACK) && own.scrollWidth > own.clientWidth + SLACK;
          if (isOut && !own.matches(scrolls)) tell(`${what} needs scrolling sideways`, element, `in ${nameOf(own)}`);
          isFreeX = true;
        }
        if (scrollsY) isFreeY = true;
        if (scrollsX || hidesX) [part.left, part.right] = [Math.max(part.left, box.left), Math.min(part.right, box.right)];
        if (scrollsY || hidesY) [part.top, part.bottom] = [Math.max(part.top, box.top), Math.min(part.bottom, box.bottom)];
      }
      if (style.position === "absolute") leaves = own;
      if (isFixed(own)) {
        isAtWindow = true;
        break;
      }
    }
    if (!isFreeX && (left < -SLACK || right > innerWidth + SLACK)) tell(`${what} is beside the window`, element);
    const end = isAtWindow ? innerHeight : page.scrollHeight - scrollY;
    if (!isFreeY && (bottom > end + SLACK || top < (isAtWindow ? 0 : -scrollY) - SLACK)) tell(`${what} is out of reach`, element);
    return { left: Math.max(part.left, 0), top: Math.max(part.top, 0), right: Math.min(part.right, innerWidth), bottom: Math.min(part.bottom, innerHeight) };
  }

  const items = [];
  const add = (element, box, what) => {
    const part = shownPart(element, box, what);
    if (part.right - part.left > SLACK && part.bottom - part.top > SLACK) items.push({ element, part, layer: layerOf(element) });
  };

  if (page.scrollWidth > innerWidth) tell("the page scrolls sideways", page, `${page.scrollWidth} of ${innerWidth} px`);

  // Texts, line by line.
  const texts = new Set();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || !element || !isShown(element) || element.closest("select, textarea, canvas")) continue;
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(({ width }) => width > 0);
    if (!lines.length) continue;
    texts.add(element);
    const isCut = /hidden|clip/.test(styleOf(element).overflowX) && element.scrollWidth > element.clientWidth + SLACK;
    if (isCut && element.title !== node.data) tell("text is cut", element);
    else if (isCut) add(element, element.getBoundingClientRect(), "text");
    else for (const line of lines.slice(0, 400)) add(element, line, "text");
  }

  // Controls: their size, their place, and the words in them.
  const pen = document.createElement("canvas").getContext("2d");
  const widthOf = (text, style) => {
    pen.font = style.font;
    return pen.measureText(text).width;
  };
  for (const element of root.querySelectorAll(CONTROLS)) {
    if (!isShown(element)) continue;
    const box = element.getBoundingClientRect();
    const style = styleOf(element);
    if (!box.width) continue;
    add(element, box, "control");
    const isInText = element.matches("a") && style.display === "inline";
    const boxes = [box, ...[...(element.labels ?? [])].map((label) => label.getBoundingClientRect())];
    const [wide, high] = [Math.max(...boxes.map(({ width }) => width)), Math.max(...boxes.map(({ height }) => height))];
    if (!isInText && (wide < LEAST_TARGET - 0.5 || high < LEAST_TARGET - 0.5)) tell("target is too small", element, `${Math.round(wide)} x ${Math.round(high)} px`);
    const isField = element.matches("input:is([type=text], [type=search], :not([type]))");
    if (isField && box.width < LEAST_FIELD) tell("field is too narrow", element, `${Math.round(box.width)} px`);
    const arrow = element.matches("select") ? 16 : 0;
    const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
    const words = arrow ? element.selectedOptions[0]?.text ?? "" : isField ? element.value || element.placeholder : "";
    if (words && (arrow || words.length <= 16) && widthOf(words, style) > room + SLACK) tell("words do not fit", element, `“${words}”`);
  }

  // What lies over something else.
  items.sort((a, b) => a.part.top - b.part.top);
  for (let n = 0; n < items.length; n += 1) {
    const { element, part, layer } = items[n];
    for (let m = n + 1; m < items.length && items[m].part.top < part.bottom - 2; m += 1) {
      const other = items[m];
      const across = Math.min(part.right, other.part.right) - Math.max(part.left, other.part.left);
      const down = Math.min(part.bottom, other.part.bottom) - other.part.top;
      if (across <= 2 || down <= 2 || other.layer !== layer || element.contains(other.element) || other.element.contains(element)) continue;
      tell("overlap", element, `over ${nameOf(other.element)}`);
    }
    const top = document.elementFromPoint((part.left + part.right) / 2, (part.top + part.bottom) / 2);
    if (!top || top === element || top.contains(element) || element.contains(top) || layerOf(top) !== layer) continue;
    if (!top.closest("label")?.contains(element)) tell("covered", element, `by ${nameOf(top)}`);
  }

  // Regions that scroll want room for it.
  for (const element of root.querySelectorAll("*")) {
    if (!/auto|scroll/.test(styleOf(element).overflowY) || !isShown(element) || element.matches("textarea, pre, select")) continue;
    const least = Math.min(48, 0.12 * innerHeight);
    if (element.scrollHeight > element.clientHeight + SLACK && element.clientHeight < least) tell("hardly any room to scroll in", element, `${element.clientHeight} px`);
  }

  // Colours.
  const one = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      one.clearRect(0, 0, 1, 1);
      one.fillStyle = colour;
      one.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = one.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const ground = (element) => {
    const layers = [];
    for (let own = element; own; own = own.parentElement) {
      const colour = rgba(styleOf(own).backgroundColor);
      if (colour[3]) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, colour) => over(colour, below), [255, 255, 255, 1]);
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((own) => (own / 255 <= 0.04045 ? own / 255 / 12.92 : ((own / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (element, colour, alpha, below, least, what = "text") => {
    const [r, g, b, a] = rgba(colour);
    const [dark, bright] = [light(over([r, g, b, a * alpha], below)), light(below)].sort((x, y) => x - y);
    const own = (bright + 0.05) / (dark + 0.05);
    if (own < least - 0.05) tell(`${what} has too little contrast`, element, `${own.toFixed(2)} of ${least}`);
  };
  if (withContrast) {
    for (const element of texts) {
      if (element.closest(":disabled, [aria-disabled=true]")) continue;
      const style = styleOf(element);
      let alpha = 1;
      for (let own = element; own; own = own.parentElement) alpha *= Number(styleOf(own).opacity);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      contrast(element, element.closest("svg") ? style.fill : style.color, alpha, ground(element), isLarge ? 3 : 4.5);
    }
    for (const element of root.querySelectorAll("input, select, textarea")) {
      if (!isShown(element) || element.disabled) continue;
      const isEmpty = element.placeholder && !element.value;
      contrast(element, isEmpty ? getComputedStyle(element, "::placeholder").color : styleOf(element).color, 1, ground(element), 4.5);
    }
  }

  // Texts on canvases.
  for (const [canvas, drawn] of window.drawnTexts ?? []) {
    if (!canvas.isConnected || !root.contains(canvas) || !isShown(canvas)) continue;
    drawn.texts.forEach(({ text, box, colour, alpha, below }, n) => {
      if (text.endsWith("…")) tell("text on a canvas is cut", canvas, `“${text}”`);
      if (box.left < -SLACK || box.right > canvas.width + SLACK || box.top < -SLACK || box.bottom > canvas.height + SLACK) tell("text leaves its canvas", canvas, `“${text}”`);
      for (const other of drawn.texts.slice(n + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 1 && down > 1) tell("texts on a canvas overlap", canvas, `“${text}” and “${other.text}”`);
      }
      const own = below.reduce((under, [fill, share]) => over([...rgba(fill).slice(0, 3), rgba(fill)[3] * share], under), ground(canvas));
      if (withContrast) contrast(canvas, colour, alpha, own, 4.5, `text “${text.replaceAll(/\d+/g, "0")}” on a canvas`);
    });
  }
  return [...found.values()].map(({ text, count }) => (count > 1 ? `${text} (${count} times)` : text));
}
