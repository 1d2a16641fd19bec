// Which screen an address is. A screen's module is fetched when somebody first goes there.

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

/** So that going there later takes no time, and a server that is away for a while is not missed. */
export function fetchAll() {
    const longer = { words: ["", "", ""] };
    for (const screen of Object.values(SCREENS))
        for (const place of [longer, { words: [] }]) screen(place).catch(() => {});
}

/** A screen whose program could not be fetched. Once it can, it is shown. */
function missing(word, place) {
    const load = async () => {
        try {
            await SCREENS[word](place);
        } catch {
            throw new Problem(SILENCE);
        }
        go(location.pathname + location.search, { replace: true });
    };
    return { title: "Not to be had", load, draw: () => headline("Not to be had") };
}

const NOWHERE = {
    title: "Nothing is here",
    load: async () => location.pathname,
    draw: (path) => [
        headline("Nothing is here"),
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
