// Workers, their jobs, and the end of their leases.

import { get } from "../api.js";
import { h } from "../element.js";
import { card, empty, jobLink, notice, table } from "../parts.js";
import { headline } from "../stage.js";
import { badge, sign } from "../states.js";
import { overview } from "../store.js";
import { moment, number } from "../words.js";
import { ago } from "../when.js";

const QUEUES_MAX = 6;

export function screen() {
    return {
        title: "Workers",
        kind: "workers",
        load: (signal) => Promise.all([get("/api/workers", { signal }), overview(signal)]),
        hears: { overview: () => "again" },
        draw,
    };
}

function draw([workers, { alarms = [], definitions }]) {
    const differing = alarms.filter((each) => each.name === "definitions-differ");
    const pools = new Map(workers.flatMap((each) => each.pools ?? []).map((each) => [each.pool, each]));
    return [
        headline("Workers", {
            says: definitions && `This console uses the definitions of ${moment(definitions.since)}.`,
        }),
        ...differing.map(({ what, advice }) => notice("warn", h("span.strong", {}, what), advice)),
        card(
            { key: "workers", bare: true },
            table({
                label: "Workers",
                head: [
                    "worker",
                    "alive",
                    ["running", "num"],
                    ["threads", "num"],
                    "queues",
                    ["code", "secondary"],
                    ["definitions", "secondary"],
                    ["running for", "num secondary"],
                    ["lease until", "num"],
                ],
                rows: workers.map((each) => ({
                    key: each.id,
                    cells: [
                        h("span.mono.strong", {}, `${each.host}:${each.pid}`),
                        each.alive
                            ? h("span.badge.is-succeeded", {}, sign("succeeded"), "yes")
                            : h("span.badge.is-failed", {}, sign("failed"), "lost"),
                        number(each.running),
                        each.threads ? number(each.threads) : h("span.faint", {}, "none"),
                        queues(each.queues),
                        h("span.mono.faint", {}, each.code ?? "–"),
                        known(each),
                        ago(each.started_at),
                        ago(each.lease_until),
                    ],
                })),
                empty: empty("No worker is running.", "Start one: sluice up, or sluice worker"),
            }),
        ),
        pools.size > 0 && lines([...pools.values()]),
    ];
}

/** Equal digests are equal definitions. */
function known({ definitions, definitions_at, definitions_problem }) {
    if (!definitions) return h("span.faint", {}, "unknown");
    const since = `since ${moment(definitions_at)}`;
    return [
        h("span.mono.faint", { title: since }, definitions.slice(0, 8)),
        definitions_problem &&
            h("span", { title: definitions_problem }, " outdated: the changed definitions have an error"),
    ];
}

function queues(names) {
    if (!names.length) return h("span.faint", {}, "all");
    const more = names.length - QUEUES_MAX;
    return [
        names.slice(0, QUEUES_MAX).join(", "),
        more > 0 && h("span.faint", { title: names.join(", ") }, ` and ${more} more`),
    ];
}

/** Jobs that wait for a slot in a pool, and the jobs that hold the slots. */
function lines(pools) {
    return card(
        { title: "Pools", key: "pools", bare: true },
        table({
            label: "Pools",
            head: [
                "pool",
                ["at once", "num"],
                ["slots in use", "num"],
                ["waiting for a slot", "num"],
                "jobs with a slot",
            ],
            rows: pools.map((each) => ({
                key: each.pool,
                cells: [
                    h("span.mono", {}, each.pool),
                    each.pool_limit === null ? "any number; only its starts are limited" : number(each.pool_limit),
                    number(each.taken),
                    number(each.waiting_for_slot),
                    each.slots.map((slot) => h("div", {}, jobLink(slot.app, slot.key), " ", badge(slot.state))),
                ],
            })),
            empty: null,
        }),
    );
}
