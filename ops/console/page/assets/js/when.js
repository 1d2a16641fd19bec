// Times on the page: shown as ages that are updated, and in full when pointed at.

import { since } from "./clock.js";
import { h } from "./element.js";
import { age, moment } from "./words.js";

const EVERY_MS = 1000;

/** Age of a time, or the time until it. `alone` can be focused; in a row the link of the row is focused. */
export function ago(at, { alone = false, none = "–" } = {}) {
    if (!at) return h("span.faint", {}, none);
    const date = new Date(at).toISOString();
    return h(
        "time",
        { datetime: date, "data-age": "", "data-full": moment(at), tabindex: alone ? 0 : null },
        told(date),
    );
}

/** The time in full. */
export function exactly(at) {
    return at ? h("time", { datetime: new Date(at).toISOString() }, moment(at)) : h("span.faint", {}, "–");
}

export function told(date) {
    const seconds = since(date);
    return seconds < -0.5 ? `in ${age(-seconds)}` : age(seconds);
}

setInterval(() => {
    for (const each of document.querySelectorAll("time[data-age]")) {
        const text = told(each.dateTime);
        if (each.firstChild.data !== text) each.firstChild.data = text;
    }
}, EVERY_MS);
