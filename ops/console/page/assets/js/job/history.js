// History of a job: the time spent in each state, and each transition with the process that made it.

import { now } from "../clock.js";
import { h } from "../element.js";
import { card, empty } from "../parts.js";
import { LIVE, sign } from "../states.js";
import { counted, plain, span } from "../words.js";
import { ago } from "../when.js";

const SHOWN_MAX = 60;

export function history(job) {
    const steps = job.history;
    const shown = steps.slice(-SHOWN_MAX).reverse();
    const before = job.counts.history - shown.length;
    return card(
        { title: "History", key: "history", bare: true },
        steps.length > 1 && stretches(job, steps),
        steps.length
            ? h(
                  "ol.timeline",
                  {},
                  shown.map((each, at) => step(each, shown[at + 1])),
              )
            : empty(
                  "Its history was removed.",
                  job.pruned_at ? ["Retention removed it ", ago(job.pruned_at), " ago."] : "",
              ),
        steps.length > 0 && before > 0 && h("p.inside.faint", {}, `and ${counted(before, "earlier transition")}`),
    );
}

function step(each, before) {
    const waited = before && (Date.parse(each.at) - Date.parse(before.at)) / 1000;
    return h(
        `li.is-${each.to}`,
        { "data-key": `${each.at}-${each.to}` },
        sign(each.to),
        h(
            "div",
            {},
            h(
                "div.timeline-head",
                {},
                h("span.timeline-state", {}, plain(each.to)),
                h("span.faint", {}, ago(each.at, { alone: true }), " ago"),
            ),
            h(
                "div.faint.small",
                {},
                [
                    each.note && plain(each.note),
                    each.by && `by the ${each.by}`,
                    waited !== undefined && `after ${span(waited)}`,
                ]
                    .filter(Boolean)
                    .join(" · "),
            ),
        ),
    );
}

/** Time spent in each state, within the known part of the history. */
function stretches(job, steps) {
    const end = LIVE.has(job.state) ? now() : Date.parse(steps.at(-1).at);
    const spent = new Map();
    steps.forEach((each, at) => {
        const until = steps[at + 1] ? Date.parse(steps[at + 1].at) : end;
        spent.set(each.to, (spent.get(each.to) ?? 0) + Math.max(0, until - Date.parse(each.at)) / 1000);
    });
    const parts = [...spent].filter(([, seconds]) => seconds > 0);
    const whole = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
    if (!whole) return null;
    const words = parts.map(([state, seconds]) => `${plain(state)} ${span(seconds)}`).join(", ");
    return h(
        "div.stretches",
        {},
        h(
            "span.bar",
            { role: "img", "aria-label": words },
            parts.map(([state, seconds]) =>
                h(`span.is-${state}`, {
                    vars: { "--part": `${(100 * seconds) / whole}%` },
                    title: `${plain(state)} ${span(seconds)}`,
                }),
            ),
        ),
        h(
            "div.legend",
            {},
            parts.map(([state, seconds]) =>
                h(`span.badge.is-${state}`, {}, sign(state), `${plain(state)} ${span(seconds)}`),
            ),
            steps.length < job.counts.history &&
                h("span.faint", {}, `in the last ${counted(steps.length, "transition")}`),
        ),
    );
}
