// Changes from the server, and whether the shown data are current. A stream sends changes; if no stream is available,
// the overview is polled instead.
// A hidden page closes its stream, so that many pages in one browser do not use up its connections.

import { get } from "./api.js";
import { now } from "./clock.js";

const KINDS = ["overview", "job", "submission", "schedules"];
const STALE_AFTER_MS = 10_000;
const AGAIN_AFTER_MS = 3_000;
const AWAY_FOR_MS = 30_000;
export const ASK_EVERY_MS = 5_000;
/** Longer than the time that the server waits for the ledger before it reports an error. */
const ASK_FOR_MS = 20_000;

/**
 * `live`: a stream is open. `asking`: the overview is polled. `unseen`: the server answers, but cannot read the ledger.
 * `reconnecting`, and then `stale`: the server does not answer.
 * @typedef {{word: "live" | "asking" | "unseen" | "reconnecting" | "stale", since: number | null}} Standing
 */

let source = null;
let topics = "";
let again = 0;
let away = 0;
/** Since when the server does not answer, and since when it cannot read the ledger. */
let lost_at = null;
let unseen_since = null;
let is_asking = false;
/** Time of the poll that is not answered yet. */
let asked_at = null;
let hear = (_kind, _data) => {};
let tell = (/** @type {Standing} */ _standing) => {};

/** @param {{heard: typeof hear, told: typeof tell}} calls */
export function start({ heard, told }) {
    hear = heard;
    tell = told;
    lost_at = now();
    setInterval(report, 1000);
    setInterval(ask, ASK_EVERY_MS);
    document.addEventListener("visibilitychange", () => {
        clearTimeout(away);
        if (document.hidden) away = setTimeout(leave, AWAY_FOR_MS);
        else if (!source && topics) open();
    });
}

/** Watch these topics. The stream is reopened only if they differ from the previous ones. */
export function watch(wanted) {
    const query = new URLSearchParams([...new Set(["overview", ...wanted])].map((each) => ["watch", each]));
    if (topics === query.toString() && source) return;
    topics = query.toString();
    open();
}

function open() {
    close();
    source = new EventSource(`/api/events?${topics}`);
    source.onerror = lose;
    // The stream first sends the known states, and whether the ledger can be read.
    source.addEventListener("ledger", (event) => {
        const since = JSON.parse(event.data).unseen_since;
        found({ unseen: since && Date.parse(since) });
        report();
    });
    for (const kind of KINDS)
        source.addEventListener(kind, (event) => {
            found({ unseen: kind === "overview" ? null : unseen_since });
            hear(kind, JSON.parse(event.data));
        });
}

function close() {
    clearTimeout(again);
    source?.close();
    source = null;
}

function leave() {
    close();
    lost_at ??= now();
}

/** The browser reconnects a broken stream by itself; a refused stream is reopened here. */
function lose() {
    if (!is_asking) lost_at ??= now();
    if (source?.readyState === EventSource.CLOSED) {
        close();
        again = setTimeout(open, AGAIN_AFTER_MS);
        if (!is_asking) ask();
    }
    report();
}

/** Poll while no stream is open. */
async function ask() {
    if (!topics || document.hidden || source?.readyState === EventSource.OPEN) return;
    if (asked_at !== null) {
        is_asking = false;
        lost_at ??= asked_at;
        return;
    }
    asked_at = now();
    try {
        const news = await get("/api/overview", { signal: AbortSignal.timeout(ASK_FOR_MS) });
        if (source?.readyState === EventSource.OPEN) return;
        found({ asking: true });
        hear("overview", news);
    } catch (problem) {
        // An answer without a reason means that all places were in use, or that there is no server.
        if (problem.title) found({ asking: true, unseen: unseen_since ?? asked_at });
        else {
            is_asking = false;
            lost_at ??= asked_at;
        }
    } finally {
        asked_at = null;
        report();
    }
}

/** Note an answer of the server. */
function found({ asking = false, unseen = null }) {
    lost_at = null;
    is_asking = asking;
    unseen_since = unseen;
}

function report() {
    if (lost_at !== null)
        tell({ word: now() - lost_at > STALE_AFTER_MS ? "stale" : "reconnecting", since: lost_at });
    else if (unseen_since !== null) tell({ word: "unseen", since: unseen_since });
    else tell({ word: is_asking ? "asking" : "live", since: null });
}
