// News from the server, and how much what is shown can be relied on: live, reconnecting, or stale since a moment.
// A page that nobody looks at hears nothing, so that many of them in one browser do not use up its connections.

import { now } from "./clock.js";

const KINDS = ["overview", "job", "submission", "schedules"];
const STALE_AFTER_MS = 10_000;
const AGAIN_AFTER_MS = 3_000;
const AWAY_FOR_MS = 30_000;

/** @typedef {{word: "live" | "reconnecting" | "stale", since: number | null}} Standing */

let source = null;
let topics = "";
let lost_at = null;
let again = 0;
let away = 0;
let hear = (_kind, _data) => {};
let tell = (/** @type {Standing} */ _standing) => {};

/** @param {{heard: typeof hear, told: typeof tell}} calls */
export function start({ heard, told }) {
    hear = heard;
    tell = told;
    setInterval(report, 1000);
    document.addEventListener("visibilitychange", () => {
        clearTimeout(away);
        if (document.hidden) away = setTimeout(close, AWAY_FOR_MS);
        else if (!source && topics) open();
    });
}

/** Listen to these; it is opened anew only where they are others than before. */
export function watch(wanted) {
    const query = new URLSearchParams([...new Set(["overview", ...wanted])].map((each) => ["watch", each]));
    if (topics === query.toString() && source) return;
    topics = query.toString();
    open();
}

export function stop() {
    topics = "";
    close();
}

function open() {
    close();
    if (document.hidden && lost_at === null) lost_at = now();
    source = new EventSource(`/api/events?${topics}`);
    source.onopen = () => {
        lost_at = null;
        report();
    };
    source.onerror = lose;
    for (const kind of KINDS)
        source.addEventListener(kind, (event) => {
            lost_at = null;
            hear(kind, JSON.parse(event.data));
        });
}

function close() {
    clearTimeout(again);
    source?.close();
    source = null;
}

/** The browser tries again by itself where the connection broke; where it was refused we do. */
function lose() {
    lost_at ??= now();
    if (source?.readyState === EventSource.CLOSED) {
        close();
        again = setTimeout(open, AGAIN_AFTER_MS);
    }
    report();
}

function report() {
    const is_stale = lost_at !== null && now() - lost_at > STALE_AFTER_MS;
    tell({ word: lost_at === null ? "live" : is_stale ? "stale" : "reconnecting", since: lost_at });
}
