// Submissions and their progress, the newest first.

import { get } from "../api.js";
import { h } from "../element.js";
import { card, empty, pager, table } from "../parts.js";
import { progress } from "../progress.js";
import { asked, go, to } from "../router.js";
import { headline } from "../stage.js";
import { badge, sign } from "../states.js";
import { overview } from "../store.js";
import { wanted } from "../wanted.js";
import { ago } from "../when.js";

const ID_MAX = 20;
const STATES = ["received", "active", "succeeded", "failed", "cancelled", "refused"];

export function screen({ query }) {
    return {
        title: "Submissions",
        kind: "submissions",
        load: async (signal) => {
            const words = { state: query.getAll("state"), app: query.get("app"), after: query.get("after") };
            const [found, around] = await Promise.all([
                get("/api/submissions", { signal, query: words }),
                overview(signal),
            ]);
            return { ...found, around };
        },
        hears: { overview: () => "again" },
        draw: (data) => draw(data, query),
    };
}

function draw({ submissions, next, around }, query) {
    const is_filtered = query.get("state") || query.get("app");
    return [
        headline("Submissions"),
        filters(query, Object.keys(around.counts)),
        card(
            { key: "submissions", bare: true },
            table({
                label: "Submissions",
                head: [
                    "request",
                    "state",
                    "progress",
                    ["submission", "secondary"],
                    ["by", "secondary"],
                    ["received", "num"],
                    ["took", "num secondary"],
                ],
                rows: submissions.map((each) => ({
                    key: each.id,
                    cells: [
                        h("a", { href: to("submissions", each.id) }, h("span.strong", {}, each.app), wanted(each)),
                        [
                            badge(each.state),
                            each.paused_at && [" ", h("span.chip", {}, "paused")],
                            each.reason && h("div.faint.small", {}, each.reason),
                        ],
                        progress(each.progress),
                        h("span.mono.faint", { title: each.id }, shortened(each.id)),
                        each.user ?? h("span.faint", {}, "–"),
                        ago(each.received_at),
                        each.ended_at ? took(each) : h("span.faint", {}, "in progress"),
                    ],
                })),
                empty: next
                    ? empty("No match so far.", "Not all submissions were searched yet. Continue with the older ones.")
                    : is_filtered
                      ? empty("No submission matches.", h("a", { href: "/submissions" }, "Show all submissions"))
                      : empty(
                            "No submissions yet.",
                            h("a", { href: "/submit" }, "Submit jobs"),
                            "or add a schedule.",
                        ),
            }),
        ),
        pager("/submissions", query, next),
    ];
}

function shortened(id) {
    return id.length <= ID_MAX ? id : `${id.slice(0, ID_MAX - 1)}…`;
}

function took({ received_at, ended_at }) {
    const seconds = (Date.parse(ended_at) - Date.parse(received_at)) / 1000;
    return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} m ${Math.floor(seconds % 60)} s`;
}

function filters(query, apps) {
    const chosen = query.get("app") ?? "";
    const states = new Set(query.getAll("state"));
    const known = [...new Set([...apps, ...(chosen ? [chosen] : [])])].sort();
    const pick = (event) => go(asked("/submissions", { app: event.target.value, state: [...states] }));
    return h(
        "div.filters",
        {},
        h(
            "select",
            { "aria-label": "App", "data-follows": "", value: chosen, on: { change: pick } },
            h("option", { value: "" }, "all apps"),
            known.map((app) => h("option", { value: app, selected: app === chosen }, app)),
        ),
        h(
            "nav.pills",
            { "aria-label": "States" },
            STATES.map((state) => {
                const has = states.has(state);
                const others = has ? [...states].filter((each) => each !== state) : [...states, state];
                const { classList } = sign(state);
                return h(
                    `a.pill.${classList[1]}`,
                    {
                        href: asked("/submissions", { app: chosen, state: others }),
                        "aria-current": has ? "true" : null,
                    },
                    sign(state),
                    state,
                );
            }),
        ),
    );
}
