// Worker for pages that are opened as files. Browsers start no worker there, so its script runs in a hidden frame.
// The search of the site needs it; its script recognizes it by the name IFrameWorker.
window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.hidden = true;
    this.inner = frame.contentWindow;
    this.inner.document.write("<!doctype html><body>");
    this.inner.document.close();
    this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.ready = new Promise((resolve, reject) => {
      const script = this.inner.document.createElement("script");
      Object.assign(script, { src: url, onload: resolve, onerror: reject });
      this.inner.document.body.append(script);
    });
  }

  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
  }
};

if (location.protocol === "file:") window.Worker = window.IFrameWorker;
