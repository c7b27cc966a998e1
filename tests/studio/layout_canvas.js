// Has a page note what it writes on canvases, and on which colours; `layout.py` adds it before the page is opened.
(() => {
  const all = window.drawnTexts = new Map();
  const { prototype } = CanvasRenderingContext2D;
  const { clearRect, fillRect, fillText } = prototype;
  const of = (canvas) => all.get(canvas) ?? all.set(canvas, { texts: [], fills: [] }).get(canvas);
  prototype.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.clientWidth) all.delete(this.canvas);
    return clearRect.call(this, x, y, width, height);
  };
  // What a text may stand on.
  prototype.fillRect = function (x, y, width, height) {
    const at = this.getTransform();
    const [left, right] = [at.a * x + at.e, at.a * (x + width) + at.e].sort((a, b) => a - b);
    const [top, bottom] = [at.d * y + at.f, at.d * (y + height) + at.f].sort((a, b) => a - b);
    if (right - left > 8) of(this.canvas).fills.push([left, top, right, bottom, this.fillStyle, this.globalAlpha]);
    return fillRect.call(this, x, y, width, height);
  };
  prototype.fillText = function (text, x, y, ...more) {
    const at = this.getTransform();
    const size = this.measureText(text);
    const around = [[-size.actualBoundingBoxLeft, -size.actualBoundingBoxAscent], [size.actualBoundingBoxRight, size.actualBoundingBoxDescent]];
    const corners = around.map(([a, b]) => at.transformPoint({ x: x + a, y: y + b }));
    const [[left, right], [top, bottom]] = ["x", "y"].map((name) => corners.map((own) => own[name]).sort((a, b) => a - b));
    const [middle, height] = [(left + right) / 2, (top + bottom) / 2];
    const { texts, fills } = of(this.canvas);
    const below = fills.filter(([l, t, r, b]) => l <= middle && middle <= r && t <= height && height <= b).map((own) => own.slice(4));
    if (String(text).trim()) texts.push({ text: String(text), box: { left, top, right, bottom }, colour: this.fillStyle, alpha: this.globalAlpha, below });
    return fillText.call(this, text, x, y, ...more);
  };
  const { set, get } = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", { get, set(value) { all.delete(this); set.call(this, value); } });
})();
