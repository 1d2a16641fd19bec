// Small icons for screens and actions. They are decoration; a text is beside them or labels them.

import { h } from "./element.js";

const PATHS = {
    overview: "M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 5h5V2H9z",
    apps: "M2 3h4v3H2zM10 2h4v3h-4zM10 11h4v3h-4zM6 4.5h2v8h2M8 3.5h2",
    jobs: "M2 4h2M6.5 4H14M2 8h2M6.5 8H14M2 12h2M6.5 12H14",
    submissions: "M8 10V2M5 5l3-3 3 3M2 10v4h12v-4",
    partitions: "M2 3h12v11H2zM2 6.5h12M5 1.5V4M11 1.5V4M6 6.5V14M10 6.5V14M2 10.2h12",
    schedules: "M8 2a6 6 0 1 0 .01 0zM8 4.8V8l2.6 1.6",
    sagas: "M2 11c2-6 4-6 6-3s4 3 6-3M11 5h3v3",
    notifications: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14.5h3",
    workers: "M5.5 5.5h5v5h-5zM3 3h10v10H3zM6 1v2M10 1v2M6 13v2M10 13v2M1 6h2M1 10h2M13 6h2M13 10h2",
    audit: "M4 2h8v12H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h3",
    plus: "M8 3v10M3 8h10",
    search: "M7 2.5a4.5 4.5 0 1 0 .01 0zM10.5 10.5 14 14",
    menu: "M2 4h12M2 8h12M2 12h12",
    close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
    sun: "M8 5a3 3 0 1 0 .01 0zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
    moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
    half: "M8 2a6 6 0 1 0 .01 0zM8 2v12M8 4.5h4M8 7h5.5M8 9.5h5.5M8 12h4",
    keys: "M1.5 4h13v8.5h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M4.5 10h7",
    fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
    minus: "M3 8h10",
    copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
    warn: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 12v.01",
    page: "M8 2a6 6 0 1 0 .01 0zM8 4.5v4.5M8 11.3v.01",
    out: "M9 3H3v10h6M7 8h7M11.5 5.5 14 8l-2.5 2.5",
    door: "M9 3h4v10H9M2 8h7M6.5 5.5 9 8l-2.5 2.5",
};

export function icon(name) {
    return h("svg.icon", { viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: PATHS[name] }));
}

/** The gate with the water behind it. */
export function mark() {
    return h(
        "svg.mark",
        { viewBox: "0 0 32 32", "aria-hidden": "true" },
        h("rect.mark-ground", { width: 32, height: 32, rx: 7 }),
        h("path.mark-posts", { d: "M9 6v20M23 6v20" }),
        h("path.mark-gate", { d: "M12.5 9h7v7h-7z" }),
        h("path.mark-water", { d: "M5 22c2-1.6 4-1.6 6 0s4 1.6 6 0 4-1.6 6 0 3 1 4 .6" }),
    );
}
