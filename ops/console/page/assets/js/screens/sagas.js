// Sagas that are running, waiting, or could not be undone.

import { get } from "../api.js";
import { resumeJob } from "../deeds.js";
import { h } from "../element.js";
import { button, card, empty, pager, table } from "../parts.js";
import { to } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { badge } from "../states.js";
import { ago } from "../when.js";

export function screen({ query }) {
    return {
        title: "Sagas",
        kind: "sagas",
        load: (signal) => get("/api/sagas", { signal, query: { after: query.get("after") } }),
        hears: { overview: () => "again" },
        draw: (data) => draw(data, query),
    };
}

function draw({ sagas, next }, query) {
    return [
        headline("Sagas"),
        card(
            { key: "sagas", bare: true },
            table({
                label: "Sagas",
                folds: true,
                head: [
                    "saga",
                    "state",
                    ["direction", "secondary"],
                    ["step", "secondary"],
                    "waits for",
                    ["since", "num"],
                    ["", "num"],
                ],
                rows: sagas.map((each) => ({
                    key: `${each.app}/${each.key}`,
                    cells: [
                        h(
                            "a",
                            { href: to("sagas", each.app, each.key) },
                            h("span.strong", {}, each.app),
                            "/",
                            h("span.mono", {}, each.key),
                        ),
                        badge(each.state),
                        each.direction === "undo" ? "undo" : "do",
                        each.steps ? [h("span.faint", {}, `${each.step + 1} of ${each.steps} `), each.name] : "–",
                        each.event
                            ? h("span.mono", {}, each.event)
                            : each.state === "suspended"
                              ? "resume"
                              : h("span.faint", {}, "–"),
                        ago(each.since),
                        mayAct() &&
                            each.state === "suspended" &&
                            button(each.event ? "Approve…" : "Resume…", () => resumeJob(each), { kind: ".first" }),
                    ],
                })),
                empty: empty(
                    "No saga is running.",
                    "Sagas that wait for an approval, or could not be undone, are listed here.",
                    h("a", { href: "/jobs" }, "Show ended sagas in the list of jobs"),
                ),
            }),
        ),
        pager("/sagas", query, next),
    ];
}
