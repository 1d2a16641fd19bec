// Schedules: the next due times and the last outcome of each.

import { get } from "../api.js";
import { onSchedule } from "../deeds.js";
import { h } from "../element.js";
import { appLink, button, card, empty, submissionLink, table } from "../parts.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { badge } from "../states.js";
import { moment, sentence } from "../words.js";
import { ago } from "../when.js";

export function screen() {
    return {
        title: "Schedules",
        kind: "schedules",
        topics: ["schedules"],
        load: (signal) => get("/api/schedules", { signal }),
        hears: { schedules: () => "again" },
        draw,
    };
}

function draw({ schedules }) {
    return [
        headline("Schedules"),
        card(
            { key: "schedules", bare: true },
            table({
                label: "Schedules",
                folds: true,
                head: ["schedule", "app", ["rule", "secondary"], "next due", "last due time", ["", "num"]],
                rows: schedules.map((each) => ({
                    key: each.id,
                    cells: [
                        h("span.strong.mono", {}, each.id),
                        appLink(each.app),
                        [h("code", {}, each.rule), " ", h("span.faint", {}, each.timezone)],
                        next(each),
                        last(each.last),
                        acts(each),
                    ],
                })),
                empty: empty(
                    "No schedules.",
                    "Add schedules to a source of definitions, each with an id, an app, and cron or every.",
                ),
            }),
        ),
    ];
}

function next(each) {
    if (each.paused_at) return [h("span.chip", {}, "paused"), " ", ago(each.paused_at), " ago"];
    if (!each.coming.length) return h("span.faint", {}, "no due time");
    const [first, ...rest] = each.coming;
    return [
        h("div", {}, h("span.strong", {}, ago(first)), " ", h("span.faint", {}, moment(first))),
        rest.length > 0 &&
            h(
                "div.faint.small",
                {},
                "then ",
                rest.map((at, place) => [place > 0 && ", ", brief(at)]),
            ),
        each.taken_up === false && h("div.faint.small", {}, "once `sluice up` runs"),
    ];
}

function brief(at) {
    return moment(at).slice(5, 16);
}

function last(found) {
    if (!found) return h("span.faint", {}, "not fired yet");
    return [
        h(
            "div",
            {},
            found.state ? badge(found.state) : found.outcome,
            " ",
            h("span.faint", {}, ago(found.due), " ago"),
        ),
        found.submission && h("div.small.long", {}, submissionLink(found.submission)),
        found.note && h("div.faint.small", {}, found.note),
    ];
}

function acts(each) {
    if (!mayAct()) return null;
    const verb = each.paused_at ? "resume" : "pause";
    return h(
        "div.acts",
        {},
        button("Fire…", () => onSchedule("fire", each), { title: `Fire ${each.id} now` }),
        button(each.paused_at ? "Resume…" : "Pause…", () => onSchedule(verb, each), {
            title: `${sentence(verb)} ${each.id}`,
        }),
    );
}
