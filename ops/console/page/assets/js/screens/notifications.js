// Deliveries of events to their receivers: pending, delivered, and given up.

import { get } from "../api.js";
import { sendAgain } from "../deeds.js";
import { h } from "../element.js";
import { deliveryRow, HEAD, STATES } from "../job/notifications.js";
import { button, card, empty, pager, table } from "../parts.js";
import { asked } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { counted, number } from "../words.js";

export function screen({ query }) {
    const words = { job: query.get("job"), state: query.get("state") };
    return {
        title: "Notifications",
        kind: "notifications",
        load: (signal) => get("/api/notifications", { signal, query: { ...words, after: query.get("after") } }),
        hears: { overview: () => "again" },
        draw: (data) => draw(data, query, words),
    };
}

function draw({ notifications, next, pending, dead }, query, words) {
    return [
        headline("Notifications", {
            says: `${counted(pending, "delivery is", "deliveries are")} pending, ${number(dead)} given up.`,
            acts: [
                mayAct() &&
                    dead > 0 &&
                    button("Send all again…", () =>
                        sendAgain({ all: true, name: counted(dead, "delivery", "deliveries") }),
                    ),
            ],
        }),
        filters(words),
        card(
            { key: "notifications", bare: true },
            table({
                label: "Notifications",
                folds: true,
                head: ["job", ...HEAD],
                rows: notifications.map((each) => deliveryRow(each, { is_alone: false })),
                empty:
                    words.job || words.state
                        ? empty("No delivery matches.", h("a", { href: "/notifications" }, "Show all deliveries"))
                        : empty("No notifications yet.", "Apps and schedules with the option notify send them."),
            }),
        ),
        pager("/notifications", query, next),
    ];
}

function filters(words) {
    return h(
        "nav.pills",
        { "aria-label": "States" },
        Object.entries(STATES).map(([state, { like, words: text }]) =>
            h(
                `a.pill.is-${like}`,
                {
                    href: asked("/notifications", { ...words, state: words.state === state ? null : state }),
                    "aria-current": words.state === state ? "true" : null,
                },
                text,
            ),
        ),
        words.job && h("span.chip", {}, `of ${words.job}`),
        (words.job || words.state) && h("a.button.bare", { href: "/notifications" }, "Clear"),
    );
}
