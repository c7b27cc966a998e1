// Browsers start no worker from a file. There the search, which is one, runs in a hidden frame. Messages are copied, as
// to a worker: else it changes what has been typed.
if (location.protocol === "file:")
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (answer) => {
            const data = structuredClone(answer);
            setTimeout(() => this.onmessage?.({ data }));
          };
          const script = inside.document.createElement("script");
          script.src = new URL(address, location.href).href;
          script.onload = () => resolve(inside);
          inside.document.body.append(script);
        };
      });
      document.body.append(this.frame);
    }
    postMessage(given) {
      const data = structuredClone(given);
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
