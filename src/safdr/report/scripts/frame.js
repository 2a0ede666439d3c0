// In the frame of a notebook: tell the page around it how high this one is, at first and whenever
// that changes. Nothing else passes between them.
(() => {
  const tell = () => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    parent.postMessage({ safdrReportHeight: height }, "*");
  };
  addEventListener("message", (event) => {
    if (event.source === parent) tell();
  });
  new ResizeObserver(tell).observe(document.documentElement);
})();
