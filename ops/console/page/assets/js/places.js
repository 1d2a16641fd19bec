// Screens by address. The module of a screen is fetched when it is first opened.

import { Problem, SILENCE } from "./api.js";
import { h } from "./element.js";
import { go } from "./router.js";
import { headline } from "./stage.js";

/** @typedef {import("./router.js").Place} Place */
/** @typedef {import("./stage.js").Screen} Screen */

const SCREENS = {
    "": () => import("./screens/overview.js"),
    apps: () => import("./screens/apps.js"),
    jobs: ({ words }) => (words.length > 2 ? import("./screens/job.js") : import("./screens/jobs.js")),
    submissions: ({ words }) =>
        words.length > 1 ? import("./screens/submission.js") : import("./screens/submissions.js"),
    partitions: () => import("./screens/partitions.js"),
    schedules: () => import("./screens/schedules.js"),
    sagas: ({ words }) => (words.length > 2 ? import("./screens/saga.js") : import("./screens/sagas.js")),
    notifications: () => import("./screens/notifications.js"),
    workers: () => import("./screens/workers.js"),
    audit: () => import("./screens/audit.js"),
    submit: () => import("./screens/submit.js"),
};

/** @param {Place} place @returns {Promise<Screen>} */
export async function screenOf(place) {
    const word = place.words[0] ?? "";
    if (!Object.hasOwn(SCREENS, word)) return NOWHERE;
    try {
        return (await SCREENS[word](place)).screen(place);
    } catch {
        return missing(word, place);
    }
}

/** Fetch all modules early, so that screens open fast and also during an outage of the server. */
export function fetchAll() {
    const longer = { words: ["", "", ""] };
    for (const screen of Object.values(SCREENS))
        for (const place of [longer, { words: [] }]) screen(place).catch(() => {});
}

/** Screen whose module could not be fetched. It is shown as soon as the fetch succeeds. */
function missing(word, place) {
    const load = async () => {
        try {
            await SCREENS[word](place);
        } catch {
            throw new Problem(SILENCE);
        }
        go(location.pathname + location.search, { replace: true });
    };
    return { title: "Screen not available", load, draw: () => headline("Screen not available") };
}

const NOWHERE = {
    title: "Page not found",
    load: async () => location.pathname,
    draw: (path) => [
        headline("Page not found"),
        h(
            "div.card",
            {},
            h(
                "div.empty",
                {},
                h("strong", {}, `There is no page ${path}.`),
                h("a", { href: "/" }, "Go to the overview"),
            ),
        ),
    ],
};
