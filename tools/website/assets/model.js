// Puts a running model in the place of its recorded picture, once it runs: where the page comes from a server.
const theme = () => (document.body.dataset.mdColorScheme === "slate" ? "dark" : "light");
const figures = location.protocol.startsWith("http") ? document.querySelectorAll("figure[data-model]") : [];
for (const figure of figures) {
  const frame = document.createElement("iframe");
  frame.src = figure.dataset.model;
  frame.loading = "lazy";
  frame.title = figure.querySelector("img").alt;
  const tell = () => frame.contentWindow.postMessage({ theme: theme() }, location.origin);
  frame.addEventListener("load", tell);
  new MutationObserver(tell).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  window.addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    frame.style.height = `${data.height}px`;
    figure.classList.toggle("running", data.runs);
  });
  figure.append(frame);
}
