// Actions of users, the newest first.

import { get } from "../api.js";
import { h } from "../element.js";
import { appLink, card, empty, jobLink, pager, submissionLink, table } from "../parts.js";
import { headline } from "../stage.js";
import { plain } from "../words.js";
import { ago, exactly } from "../when.js";

export function screen({ query }) {
    return {
        title: "Audit",
        kind: "audit",
        load: (signal) => get("/api/audit", { signal, query: { after: query.get("after") } }),
        hears: { overview: () => "again" },
        draw: (data) => draw(data, query),
    };
}

function draw({ audit, next }, query) {
    return [
        headline(
            "Audit",
            { says: "Actions of users in the console, the API and the command line, and by signed messages." },
        ),
        card(
            { key: "audit", bare: true },
            table({
                label: "Audit",
                folds: true,
                head: [
                    ["ago", "num"],
                    ["when", "secondary"],
                    ["actor", "nowrap"],
                    ["action", "nowrap"],
                    "target",
                    "result",
                ],
                rows: audit.map((each) => ({
                    key: `${each.at} ${each.action} ${JSON.stringify(each.target)}`,
                    cells: [
                        ago(each.at),
                        h("span.faint", {}, exactly(each.at)),
                        each.actor ?? "–",
                        plain(each.action),
                        about(each.target ?? {}),
                        words(each.result),
                    ],
                })),
                empty: empty("No actions yet.", "Each action that changes something is listed here."),
            }),
        ),
        pager("/audit", query, next),
    ];
}

function about({ app, key, submission, ...rest }) {
    const more = words(rest);
    return [
        app && key ? jobLink(app, key) : app ? appLink(app) : null,
        submission && [app && " ", submissionLink(submission)],
        more && h("div.small", {}, more),
    ];
}

/** Names and values, in one line. */
function words(found) {
    const pairs = Object.entries(found ?? {}).filter(([, value]) => value !== null && value !== undefined);
    if (!pairs.length) return null;
    return h(
        "span.faint",
        {},
        pairs
            .map(([name, value]) => `${plain(name)} ${typeof value === "object" ? JSON.stringify(value) : value}`)
            .join(", "),
    );
}
