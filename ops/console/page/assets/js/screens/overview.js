// Overview: throughput of the last hour, queues, workers and alerts.

import { get } from "../api.js";
import { partsBar, sparkline, throughput } from "../charts.js";
import { h } from "../element.js";
import { appLink, card, empty, notice, table } from "../parts.js";
import { asked } from "../router.js";
import { headline } from "../stage.js";
import { BAD, STATES, sign } from "../states.js";
import { remember } from "../store.js";
import { age, number, plain } from "../words.js";
import { ago } from "../when.js";

const TILES_MAX = 24;
const QUEUES_MAX = 20;
const ALERTS_MAX = 6;

export function screen() {
    return {
        title: "Overview",
        kind: "overview",
        load: async (signal) => {
            const found = await get("/api/overview", { signal });
            remember(found);
            return found;
        },
        hears: { overview: (news) => news },
        draw,
    };
}

function draw(data) {
    return [
        headline("Overview"),
        alerts(data.alarms ?? []),
        totals(data.totals),
        card({ title: "Throughput", beside: legend(data.series), key: "throughput" }, throughput(data.series)),
        apps(data),
        h("div.columns", {}, queues(data.queues), workers(data.workers)),
    ];
}

function alerts(found) {
    const shown = found
        .slice(0, ALERTS_MAX)
        .map(({ severity, what, about, advice }) =>
            notice(
                severity === "page" ? "bad" : "warn",
                h("span.strong", {}, what),
                advice,
                about?.app && h("a", { href: asked("/apps", { app: about.app }) }, about.app),
            ),
        );
    const more = found.length - ALERTS_MAX;
    return h(
        "section.stack",
        { "aria-label": "Alerts", "data-key": "alerts", hidden: !found.length },
        shown,
        more > 0 && h("p.faint", {}, `and ${number(more)} more alerts`),
    );
}

/** Number of jobs in each state, in large digits. */
function totals(found) {
    const present = STATES.filter((state) => found[state]);
    if (!present.length)
        return card(
            { key: "totals", bare: true },
            empty("No jobs yet.", h("a", { href: "/submit" }, "Submit jobs"), "or add a schedule."),
        );
    return h(
        "section.totals",
        { "aria-label": "Jobs by state", "data-key": "totals" },
        present.map((state) =>
            h(
                `a.total.is-${state}`,
                { href: asked("/jobs", { state }), "data-key": state },
                h("span.total-number", {}, number(found[state])),
                h("span.total-word", {}, sign(state), plain(state)),
            ),
        ),
    );
}

function legend({ started, succeeded, failed }) {
    const all = (values) => number(values.reduce((sum, each) => sum + each, 0));
    return h(
        "div.legend",
        {},
        h("span.legend-line", {}, `${all(started)} started`),
        h("span.legend-good", {}, `${all(succeeded)} succeeded`),
        h("span.legend-bad", {}, `${all(failed)} failed`),
        h("span.faint", {}, "in the last hour"),
    );
}

/** A small chart for each app, the busiest apps first. */
function apps({ counts, states, queues }) {
    const idle = queues.filter(({ app }) => !counts[app]).length;
    const names = Object.keys(counts);
    const moves = (app) =>
        Object.values(states.by_app[app] ?? {})
            .flat()
            .reduce((sum, each) => sum + each, 0);
    const sorted = names.sort((a, b) => moves(b) - moves(a) || a.localeCompare(b));
    const more = Math.max(0, sorted.length - TILES_MAX);
    const rest = [more && `${number(more)} more with less activity`, idle && `${number(idle)} without jobs`].filter(
        Boolean,
    );
    return card(
        {
            title: "Apps in the last hour",
            key: "apps",
            bare: true,
            beside: h("a", { href: "/apps" }, "Graph of all apps"),
            foot: rest.length ? `and ${rest.join(", ")}` : null,
        },
        sorted.length
            ? h(
                  "div.tiles",
                  {},
                  sorted.slice(0, TILES_MAX).map((app) => tile(app, counts[app] ?? {}, states)),
              )
            : empty(
                  "No app has jobs yet.",
                  idle
                      ? h("a", { href: "/submit" }, "Submit jobs")
                      : "Start Sluice with their definitions: sluice --apps SOURCE up",
              ),
    );
}

function tile(app, counts, states) {
    const present = STATES.filter((state) => counts[state]);
    return h(
        "a.tile",
        { href: asked("/apps", { app }), "data-key": app },
        h("span.tile-name", {}, app),
        sparkline(states, { succeeded: states.by_app[app]?.succeeded, failed: badly(states.by_app[app] ?? {}) }),
        partsBar(
            present.map((state) => [state, counts[state]]),
            present.map((each) => `${counts[each]} ${plain(each)}`).join(", "),
        ),
        h(
            "span.tile-counts",
            {},
            present.map((state) =>
                h(
                    `span.tile-count.is-${state}`,
                    { title: plain(state) },
                    sign(state),
                    number(counts[state]),
                    h("span.aside-text", {}, plain(state)),
                ),
            ),
        ),
    );
}

/** Unsuccessful outcomes of jobs, per minute. */
function badly(lines) {
    const found = Object.entries(lines)
        .filter(([state]) => BAD.has(state))
        .map(([, line]) => line);
    return found[0]?.map((_, at) => found.reduce((sum, line) => sum + line[at], 0));
}

function queues(found) {
    const urgent = (each) => [each.ready, each.running, each.waiting];
    const busy = found.filter((each) => each.waiting || each.ready || each.running || each.paused);
    const sorted = busy.sort((a, b) => {
        const [x, y] = [urgent(a), urgent(b)];
        return y[0] - x[0] || y[1] - x[1] || y[2] - x[2] || a.app.localeCompare(b.app);
    });
    const more = Math.max(0, sorted.length - QUEUES_MAX);
    const idle = found.length - sorted.length;
    const rest = [
        more && `${number(more)} less busy`,
        idle && `${number(idle)} empty`,
    ].filter(Boolean);
    return card(
        { title: "Queues", key: "queues", bare: true, foot: rest.length ? `and ${rest.join(", ")}` : null },
        table({
            label: "Queues",
            head: [
                "app",
                ["waiting", "num secondary"],
                ["ready", "num"],
                ["oldest ready", "num"],
                ["running", "num"],
                ["workers", "num"],
            ],
            rows: sorted.slice(0, QUEUES_MAX).map((each) => ({
                key: each.app,
                cells: [
                    [appLink(each.app), each.paused && [" ", h("span.chip", {}, "paused")]],
                    number(each.waiting),
                    each.ready ? h("span.strong", {}, number(each.ready)) : "0",
                    each.oldest_ready_s === null || each.oldest_ready_s === undefined ? "–" : age(each.oldest_ready_s),
                    number(each.running),
                    each.workers || !each.ready
                        ? number(each.workers)
                        : h("span.badge.is-failed", {}, sign("failed"), "none"),
                ],
            })),
            empty: empty("All queues are empty."),
        }),
    );
}

function workers(found) {
    return card(
        { title: "Workers", key: "workers", bare: true, beside: h("a", { href: "/workers" }, "All workers") },
        table({
            label: "Workers",
            head: ["worker", "queues", ["running", "num"], ["lease until", "num secondary"]],
            rows: found.map((each) => ({
                key: each.id,
                cells: [
                    h("span.mono", {}, `${each.host}:${each.pid}`),
                    each.queues.length
                        ? each.queues.slice(0, 4).join(", ") + (each.queues.length > 4 ? " …" : "")
                        : h("span.faint", {}, "all"),
                    number(each.running),
                    ago(each.lease_until),
                ],
            })),
            empty: empty("No worker is running.", "Start one: sluice up, or sluice worker"),
        }),
    );
}
