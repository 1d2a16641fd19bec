// Deliveries of events to their receivers, as rows of a table, and the deliveries of one job.

import { sendAgain } from "../deeds.js";
import { h } from "../element.js";
import { button, card, jobLink, table } from "../parts.js";
import { asked } from "../router.js";
import { mayAct } from "../session.js";
import { sign } from "../states.js";
import { number, plain } from "../words.js";
import { ago } from "../when.js";

/** States of a delivery, each with the state of a job whose appearance it uses. */
export const STATES = {
    pending: { like: "waiting", words: "pending" },
    delivered: { like: "succeeded", words: "delivered" },
    dead: { like: "failed", words: "given up" },
};
export const HEAD = ["event", "receiver", "state", ["attempts", "num"], ["event ago", "num"], ["", "num"]];

/** @param {any} each @param {{is_alone: boolean}} options alone: without the name of the job */
export function deliveryRow(each, { is_alone }) {
    const { like, words } = STATES[each.state];
    const cells = [
        plain(each.event),
        h("span.mono", {}, each.receiver),
        [
            h(`span.badge.is-${like}`, {}, sign(like), words),
            each.state === "pending" && each.attempts > 0 && [" next attempt ", ago(each.state_at)],
            each.error && each.state !== "delivered" && h("div.faint.small", {}, each.error),
        ],
        number(each.attempts),
        ago(each.at),
        each.state === "dead" &&
            mayAct() &&
            button("Send again…", () =>
                sendAgain({ ids: [each.id], name: `${plain(each.event)}: ${each.app}/${each.key}` }),
            ),
    ];
    return {
        key: `${each.id} ${each.receiver} ${each.submission ?? ""}`,
        cells: is_alone ? cells : [jobLink(each.app, each.key), ...cells],
    };
}

/** Returns null if the job has none. */
export function notifications(job, found) {
    if (!found?.notifications.length) return null;
    return card(
        {
            title: "Notifications",
            key: "notifications",
            bare: true,
            beside: h(
                "a",
                { href: asked("/notifications", { job: `${job.app}/${job.key}` }) },
                "All notifications of this job",
            ),
        },
        table({
            label: "Notifications",
            folds: true,
            head: HEAD,
            rows: found.notifications.map((each) => deliveryRow(each, { is_alone: true })),
            empty: null,
        }),
    );
}
