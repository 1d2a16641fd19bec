// The app graph with live counts, and details of the selected app.

import { get, path } from "../api.js";
import { onApp } from "../deeds.js";
import { h } from "../element.js";
import { appNodes } from "../graph/nodes.js";
import { GraphView } from "../graph/view.js";
import { button, card, empty, facts, table, appLink } from "../parts.js";
import { kept } from "../morph.js";
import { asked, go } from "../router.js";
import { mayAct, maySubmit } from "../session.js";
import { headline, tally } from "../stage.js";
import { STATES, badge, sign } from "../states.js";
import { overview } from "../store.js";
import { number, plain, span } from "../words.js";

let graph = null;
let focused = null;

export function screen({ query }) {
    const app = query.get("app");
    return {
        title: app ?? "Apps",
        kind: "apps",
        load: async (signal) => {
            const [picture, around, about] = await Promise.all([
                get("/api/graph", { signal }),
                overview(signal),
                app && get(path("apps", app), { signal }),
            ]);
            return { picture, around, about, app };
        },
        hears: { overview: (news, data) => ({ ...data, around: news }) },
        draw,
    };
}

function draw({ picture, around, about, app }) {
    if (!graph?.element.isConnected) {
        graph = new GraphView({
            label: "The apps and their dependencies",
            greedy: true,
            chosen: (node) => go(node.is_table ? "/partitions" : asked("/jobs", { app: node.app })),
            focused: (id) => {
                if (!graph.nodes.get(id)?.is_table) go(asked("/apps", { app: id }), { replace: true });
            },
        });
        focused = null;
    }
    graph.show(appNodes(picture, around.counts));
    if (app !== focused && graph.at !== app) requestAnimationFrame(() => graph.focus(app, { centre: app !== null }));
    focused = app;
    if (!picture.apps.length)
        return [
            headline("Apps"),
            card(
                { bare: true },
                empty("No apps are defined.", "Start Sluice with their definitions: sluice --apps SOURCE up"),
            ),
        ];
    return [
        headline("Apps", { beside: [tally(picture.apps.length, "app"), finder(picture, app)] }),
        h(
            "div.apps",
            { class: about ? "has-about" : "" },
            h("section.card", { "aria-label": "Graph" }, kept(graph.element), legend(picture)),
            about && portrait(about, around),
        ),
        everything(picture, around, app),
    ];
}

function legend({ needs, tables }) {
    const parts = [
        needs.some((each) => each.added) && "Dashed lines lead to apps with jobs that another job has added.",
        tables.length > 0 && "Dotted boxes are tables that no app fills.",
    ].filter(Boolean);
    return parts.length > 0 && h("footer", {}, parts.join(" "));
}

/** Search field: a name centres its box. */
function finder(picture, app) {
    const find = (event) => {
        const name = event.target.value.trim();
        const found =
            picture.apps.find((each) => each.name === name) ?? (event.type === "change" && nearest(picture, name));
        if (found && found.name !== app) {
            event.target.value = "";
            go(asked("/apps", { app: found.name }));
        }
    };
    return h(
        "div.filters",
        {},
        h("input", {
            type: "search",
            list: "app-names",
            placeholder: "Find an app…",
            "aria-label": "Find an app",
            autocomplete: "off",
            spellcheck: "false",
            on: { input: find, change: find },
        }),
        h(
            "datalist",
            { id: "app-names" },
            picture.apps.map((each) => h("option", { value: each.name })),
        ),
        app && h("a.button.bare", { href: "/apps" }, "All apps"),
    );
}

function nearest(picture, name) {
    const low = name.toLowerCase();
    return low && picture.apps.find((each) => each.name.toLowerCase().includes(low));
}

function portrait(about, around) {
    const { app } = about;
    const counts = around.counts[app] ?? {};
    const queue = around.queues.find((each) => each.app === app);
    return h(
        "aside.portrait",
        { "aria-label": app, "data-key": app },
        card(
            { title: app, beside: queue?.paused ? h("span.chip", {}, "paused") : null },
            h(
                "div.pills",
                {},
                STATES.filter((state) => counts[state]).map((state) =>
                    h(
                        `a.pill.is-${state}`,
                        { href: asked("/jobs", { app, state }) },
                        sign(state),
                        `${plain(state)} `,
                        h("span.faint", {}, number(counts[state])),
                    ),
                ),
            ),
            facts([
                ["type", about.job_type],
                ["key", h("code", {}, about.job_id ?? (about.chunks ? "chunks of work IDs" : "partitions"))],
                ["workers", queue && number(queue.workers)],
                ["timeout", about.policy?.timeout_s && span(about.policy.timeout_s)],
                [
                    "retries",
                    about.policy &&
                        `${about.policy.max_fails} after failures, ${about.policy.max_timeouts} after timeouts`,
                ],
                ["runs", about.runs && h("code", {}, about.runs), "wide"],
                ["needs", named(about.parents.flatMap((each) => each.apps)), "wide"],
                ["needed by", named(about.children), "wide"],
                ["defined in", about.origin && h("code", {}, about.origin), "wide"],
            ]),
            h(
                "div.acts",
                {},
                maySubmit() && h("a.button.first", { href: asked("/submit", { app }) }, "Submit…"),
                h("a.button", { href: asked("/jobs", { app }) }, "Jobs"),
                mayAct() &&
                    button(queue?.paused ? "Resume…" : "Pause…", () => onApp(queue?.paused ? "resume" : "pause", app)),
            ),
        ),
    );
}

function named(apps) {
    const found = [...new Set(apps)];
    return found.length ? found.map((each, at) => [at > 0 && ", ", appLink(each)]) : "none";
}

/** The graph as a table. */
function everything(picture, around, app) {
    const rows = [...picture.apps].sort((a, b) => a.name.localeCompare(b.name));
    return h(
        "details.card",
        { "data-key": "table" },
        h("summary.inside", {}, "Apps as a table"),
        table({
            label: "Apps",
            head: ["app", ["type", "secondary"], ["keyed by", "secondary"], "jobs"],
            rows: rows.map((each) => {
                const counts = around.counts[each.name] ?? {};
                return {
                    key: each.name,
                    cells: [
                        h(
                            "a",
                            {
                                href: asked("/apps", { app: each.name }),
                                "aria-current": each.name === app ? "true" : null,
                            },
                            each.name,
                        ),
                        each.job_type,
                        each.keyed_by,
                        STATES.filter((state) => counts[state]).map((state) => [
                            badge(state, { more: number(counts[state]) }),
                            "  ",
                        ]),
                    ],
                };
            }),
            empty: null,
        }),
    );
}
