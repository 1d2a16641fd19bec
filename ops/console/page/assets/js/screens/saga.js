// One flight: its steps, its journal, the event that it waits for, and actions if it is stuck.

import { get, path } from "../api.js";
import { forceDone, resumeJob, retryUndo } from "../deeds.js";
import { h } from "../element.js";
import { button, card, empty, facts, notice, table } from "../parts.js";
import { to } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { badge, sign } from "../states.js";
import { plain } from "../words.js";
import { ago } from "../when.js";

const LOOKS = {
    done: "succeeded",
    forced: "succeeded",
    came: "succeeded",
    again: "running",
    awaits: "suspended",
    undo_failed: "fatal",
};

export function screen({ words }) {
    const [, app, ...rest] = words;
    const key = rest.join("/");
    return {
        title: `${app}/${key}`,
        topics: [`job:${app}/${key}`],
        load: async (signal) => {
            const [saga, job] = await Promise.all([
                get(path("jobs", app, key, "saga"), { signal }),
                get(path("jobs", app, key), { signal }),
            ]);
            return { saga: saga.saga ?? saga, job };
        },
        hears: { job: () => "again", overview: () => "again" },
        draw,
    };
}

function draw({ saga, job }) {
    const { app, key, state } = job;
    return [
        headline([h("span.crumb", {}, h("a", { href: "/sagas" }, "Sagas"), ` / ${app} / `), h("span.mono", {}, key)], {
            beside: h(`span.badge.large.is-${state}`, { "data-key": "state" }, badge(state)),
            acts: [...acts(saga, job), h("a.button", { href: to("jobs", app, key) }, "Show the job")],
        }),
        saga.waits_for && awaited(saga, job),
        saga.failure && failure("bad", "The saga failed and is undone", saga.failure),
        saga.trouble && failure("bad", "The saga could not be undone", saga.trouble),
        course(saga),
        h("div.job", {}, h("div.job-main", {}, journal(saga)), h("div.job-side", {}, about(saga), events(saga))),
    ];
}

function acts(saga, job) {
    if (!mayAct()) return [];
    const event = saga.waits_for?.event ?? null;
    return [
        job.state === "suspended" &&
            button(event ? "Approve…" : "Resume…", () => resumeJob({ ...job, event }), { kind: ".first" }),
        job.state === "fatal" && button("Try the undo again…", () => retryUndo(job)),
        job.state === "fatal" && button("Mark undo as done…", () => forceDone(job), { kind: ".grave" }),
    ];
}

function awaited({ waits_for: found }, { state }) {
    if (state !== "suspended") return null;
    const what = found.event
        ? ["The saga has waited for ", h("strong.mono", {}, found.event), " for "]
        : ["The saga has waited to be resumed for "];
    const end = found.otherwise === "go_on" ? "; without it, the saga continues " : "; without it, the saga is undone ";
    const until = found.until && [end, ago(found.until, { alone: true })];
    return notice("warn", [what, ago(found.since, { alone: true }), until, "."]);
}

function failure(kind, what, { step, type, message, traceback }) {
    const more = traceback && h("details", {}, h("summary", {}, "Traceback"), h("pre", {}, traceback));
    return notice(kind, [`${what}: `, step && `${step}, `, h("strong", {}, type), message && `: ${message}`], more);
}

/** The steps in order, each with its last entry in the journal. */
function course({ journal: entries, steps, direction }) {
    const last = new Map();
    for (const each of entries) if (each.direction !== "switch") last.set(each.step, each);
    const count = Math.max(steps ?? 0, ...[...last.keys()].map((at) => at + 1), 0);
    if (!count) return null;
    return h(
        "ol.steps",
        { "aria-label": "Steps", "data-key": "steps" },
        Array.from({ length: count }, (_, at) => {
            const found = last.get(at);
            const undone = found?.direction === "undo" && LOOKS[found.result] === "succeeded";
            const state = !found ? "expected" : undone ? "cancelled" : (LOOKS[found.result] ?? "running");
            const words = !found
                ? direction === "undo"
                    ? "not started"
                    : "not started yet"
                : undone
                  ? "undone"
                  : found.direction === "undo"
                    ? `undo: ${plain(found.result)}`
                    : plain(found.result);
            return h(
                `li.step.is-${state}`,
                {},
                h("span.faint.small", {}, `step ${at + 1}`),
                h("span.strong", {}, found?.name ?? "…"),
                h("span.badge", {}, sign(state), words),
            );
        }),
    );
}

function journal({ journal: entries }) {
    return card(
        { title: "Journal", key: "journal", bare: true },
        table({
            label: "Journal",
            folds: true,
            head: [["entry", "num"], "step", "direction", "result", "details", ["when", "num"]],
            rows: [...entries].reverse().map((each) => ({
                key: String(each.seq),
                cells: [
                    each.seq,
                    [h("span.faint", {}, `${each.step + 1} `), each.name],
                    each.direction,
                    h(
                        `span.badge.is-${LOOKS[each.result] ?? "running"}`,
                        {},
                        sign(LOOKS[each.result] ?? "running"),
                        plain(each.result),
                    ),
                    [
                        each.awaits && `waits for ${each.awaits}`,
                        each.failure && `${each.failure.type}: ${each.failure.message}`,
                        each.note,
                    ]
                        .filter(Boolean)
                        .join("; "),
                    ago(each.at),
                ],
            })),
            empty: empty("The journal is empty.", "Each step adds an entry when it ends."),
        }),
    );
}

function about(saga) {
    return card(
        { title: "Details", key: "about" },
        facts([
            ["direction", saga.direction === "undo" ? "undo" : "do"],
            ["lost workers", saga.crashes || null],
            ["abort reason", saga.abort_reason, "wide"],
            ["working map", h("pre", {}, JSON.stringify(saga.working ?? {}, null, 2)), "wide"],
        ]),
    );
}

function events({ events: found }) {
    if (!found?.length) return null;
    return card(
        { title: "Events", key: "events", bare: true },
        h(
            "ul.family",
            {},
            found.map((each) =>
                h(
                    "li",
                    {},
                    h(
                        "div",
                        {},
                        h("span.strong.mono", {}, each.name ?? "resume"),
                        " ",
                        each.payload !== null && h("code", {}, JSON.stringify(each.payload)),
                    ),
                    h("span.faint", {}, each.by && `${each.by}, `, ago(each.at), " ago"),
                ),
            ),
        ),
    );
}
