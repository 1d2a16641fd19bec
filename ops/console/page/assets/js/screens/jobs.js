// Jobs, the newest first, by app, key and state.

import { get } from "../api.js";
import { h } from "../element.js";
import { card, empty, jobLink, pager, submissionLink, table } from "../parts.js";
import { asked, go } from "../router.js";
import { headline } from "../stage.js";
import { STATES, badge, sign } from "../states.js";
import { overview } from "../store.js";
import { number, plain } from "../words.js";
import { ago } from "../when.js";

const TYPED_MS = 250;
const WORDS = ["app", "key", "state", "submission", "added_by", "late", "where"];
let typed = 0;

export function screen({ query }) {
    return {
        title: "Jobs",
        kind: "jobs",
        load: async (signal) => {
            const words = Object.fromEntries(WORDS.map((word) => [word, query.getAll(word)]));
            const [found, around] = await Promise.all([
                get("/api/jobs", { signal, query: { ...words, after: query.get("after") } }),
                overview(signal),
            ]);
            return { ...found, around };
        },
        hears: { overview: () => "again" },
        draw: (data) => draw(data, query),
    };
}

function draw({ jobs, next, around }, query) {
    const given = WORDS.filter((word) => query.get(word));
    const sum = query.get("app") ? (around.counts[query.get("app")] ?? {}) : around.totals;
    return [
        headline("Jobs"),
        filters(query, Object.keys(around.counts)),
        pills(query, sum),
        card(
            { key: "jobs", bare: true },
            table({
                label: "Jobs",
                head: [
                    "job",
                    "state",
                    ["round", "num secondary"],
                    ["priority", "num secondary"],
                    ["created", "num secondary"],
                    ["changed", "num"],
                ],
                rows: jobs.map((job) => ({
                    key: `${job.app}/${job.key}`,
                    cells: [
                        jobLink(job.app, job.key),
                        [
                            badge(job.state),
                            job.paused && [" ", h("span.chip", {}, "paused")],
                            job.late && [" ", h("span.chip.late", {}, "late")],
                        ],
                        quiet(job.round),
                        quiet(job.priority),
                        ago(job.created_at),
                        ago(job.changed_at),
                    ],
                })),
                empty: next
                    ? empty("No match so far.", "Not all jobs were searched yet. Continue with the older jobs.")
                    : given.length
                      ? empty("No job matches.", h("a", { href: "/jobs" }, "Show all jobs"))
                      : empty("No jobs yet.", h("a", { href: "/submit" }, "Submit jobs"), "to see them here."),
            }),
        ),
        pager("/jobs", query, next),
    ];
}

/** A value of 0 is shown as a faint dash. */
function quiet(value) {
    return value ? number(value) : h("span.faint", {}, "–");
}

function filters(query, apps) {
    const change = (word, replace) => (event) => go(changed(query, word, event.target.value.trim()), { replace });
    const type = (event) => {
        const text = event.target.value.trim();
        clearTimeout(typed);
        typed = setTimeout(
            () => go(changed(new URLSearchParams(location.search), "key", text), { replace: true }),
            TYPED_MS,
        );
    };
    const chosen = query.get("app") ?? "";
    const known = [...new Set([...apps, ...(chosen ? [chosen] : [])])].sort();
    return h(
        "form.filters",
        { role: "search", "aria-label": "Filter jobs", on: { submit: (event) => event.preventDefault() } },
        h(
            "select",
            { "aria-label": "App", "data-follows": "", value: chosen, on: { change: change("app", false) } },
            h("option", { value: "" }, "all apps"),
            known.map((app) => h("option", { value: app, selected: app === chosen }, app)),
        ),
        h("input", {
            type: "search",
            placeholder: "Key begins with…",
            "aria-label": "Key begins with",
            "data-follows": "",
            value: query.get("key") ?? "",
            autocomplete: "off",
            spellcheck: "false",
            on: { input: type },
        }),
        query.get("submission") && h("span.chip", {}, "of ", submissionLink(query.get("submission"))),
        query.get("where") && h("span.chip", {}, h("code", {}, query.get("where"))),
        query.get("added_by") && h("span.chip", {}, "added by ", jobLink(...split(query.get("added_by")))),
        WORDS.some((word) => query.get(word)) && h("a.button.bare", { href: "/jobs" }, "Clear"),
    );
}

/** Filter by states. */
function pills(query, counts) {
    const chosen = new Set(query.getAll("state"));
    const is_part = ["submission", "added_by", "late", "where"].some((word) => query.get(word));
    const is_late = query.get("late");
    return h(
        "nav.pills",
        { "aria-label": "States" },
        STATES.filter((state) => counts[state] || chosen.has(state)).map((state) => {
            const states = chosen.has(state) ? [...chosen].filter((each) => each !== state) : [...chosen, state];
            return h(
                `a.pill.is-${state}`,
                {
                    href: changed(query, "state", states),
                    "data-key": state,
                    "aria-current": chosen.has(state) ? "true" : null,
                },
                sign(state),
                plain(state),
                is_part ? null : h("span.faint", {}, number(counts[state] ?? 0)),
            );
        }),
        h(
            "a.pill",
            {
                href: changed(query, "late", is_late ? [] : "true"),
                "data-key": "late",
                "aria-current": is_late ? "true" : null,
                title: "Jobs that did not end within their due_within",
            },
            "late",
        ),
    );
}

/** App and key of a name. Only the key may contain slashes. */
function split(name) {
    const at = name.indexOf("/");
    return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
}

function changed(query, word, value) {
    const words = Object.fromEntries(WORDS.map((each) => [each, query.getAll(each)]));
    return asked("/jobs", { ...words, [word]: value });
}
