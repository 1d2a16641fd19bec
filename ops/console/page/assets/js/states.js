// The states of a job: each has a colour (by its class), a shape of its own and a word, not only a colour.
// Their names and order are those of the ledger; a test compares them.

import { h } from "./element.js";
import { plain } from "./words.js";

/** Paths in a field of 16 by 16. `fill` is painted, the rest is drawn. */
const SHAPES = {
    expected: { d: "M8 2.5v0M12 4v0M13.5 8v0M12 12v0M8 13.5v0M4 12v0M2.5 8v0M4 4v0" },
    waiting: { d: "M8 2.5a5.5 5.5 0 1 0 .01 0z" },
    ready: { d: "M8 2.5a5.5 5.5 0 1 0 .01 0z", fill: "M8 2.5a5.5 5.5 0 0 1 0 11z" },
    running: { fill: "M4 2.5 13.5 8 4 13.5z" },
    suspended: { d: "M5.5 3v10M10.5 3v10" },
    executed: { d: "M8 2.5a5.5 5.5 0 1 0 .01 0z", fill: "M8 5.5a2.5 2.5 0 1 0 .01 0z" },
    succeeded: { d: "M2.5 8.5 6.5 12.5 13.5 4" },
    failed: { d: "M3.5 3.5l9 9M12.5 3.5l-9 9" },
    fatal: { d: "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 11v.01" },
    timed_out: { d: "M4 2.5h8M4 13.5h8M5 2.5c0 4 6 7 6 11M11 2.5c0 4-6 7-6 11" },
    expired: { d: "M8 2.5a5.5 5.5 0 1 0 .01 0zM8 5v3.2l2.2 1.6" },
    skipped: { d: "M3 3.5 7.5 8 3 12.5M8.5 3.5 13 8l-4.5 4.5" },
    cancelled: { d: "M8 2.5a5.5 5.5 0 1 0 .01 0zM4.2 11.8l7.6-7.6" },
    upstream_failed: { d: "M8 14V6M4.5 9 8 5.5 11.5 9M5.5 2h5" },
    split: { d: "M8 14V9L3.5 3M8 9l4.5-6" },
};

/** All states, in the order of display. */
export const STATES = Object.keys(SHAPES);
export const LIVE = new Set(["expected", "waiting", "ready", "running", "suspended", "executed"]);
export const BAD = new Set(["failed", "fatal", "timed_out", "expired", "upstream_failed"]);
/** States in which an operator can cancel a job. */
export const STOPPABLE = new Set(["waiting", "ready", "running", "suspended"]);

/** Return whether a job may be run again. A split job may not, because its halves replace it. */
export function isRevivable(state) {
    return !LIVE.has(state) && state !== "split";
}

/** States of submissions use the shape of a similar state of jobs. */
const LIKE = { received: "waiting", active: "running", refused: "failed" };

/** The sign of a state: decoration, because its word is beside it. */
export function sign(state) {
    const shape = SHAPES[LIKE[state] ?? state] ?? SHAPES.waiting;
    return h(
        `svg.sign.is-${LIKE[state] ?? state}`,
        { viewBox: "0 0 16 16", "aria-hidden": "true" },
        shape.fill && h("path.sign-fill", { d: shape.fill }),
        shape.d && h("path.sign-line", { d: shape.d }),
    );
}

/** The sign of a state, for a canvas. */
export function outline(state) {
    const shape = SHAPES[LIKE[state] ?? state] ?? SHAPES.waiting;
    return { fill: shape.fill && new Path2D(shape.fill), line: shape.d && new Path2D(shape.d) };
}

/** Sign and word. */
export function badge(state, { more = "" } = {}) {
    return h(`span.badge.is-${LIKE[state] ?? state}`, {}, sign(state), h("span", {}, plain(state), more && ` ${more}`));
}
