// One submission: its request, its progress, and the states of its jobs.

import { get, path } from "../api.js";
import { partsBar } from "../charts.js";
import { onSubmission } from "../deeds.js";
import { h } from "../element.js";
import { appLink, button, card, empty, facts, jobLink, notice, table } from "../parts.js";
import { asked } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { BAD, STATES, badge, sign } from "../states.js";
import { counted, number, percent } from "../words.js";
import { wanted } from "../wanted.js";
import { ago } from "../when.js";

const JOBS_MAX = 50;

export function screen({ words }) {
    const id = words.slice(1).join("/");
    return {
        title: id,
        topics: [`submission:${id}`],
        load: async (signal) => {
            const [found, jobs] = await Promise.all([
                get(path("submissions", id), { signal }),
                get("/api/jobs", { signal, query: { submission: id, limit: JOBS_MAX } }),
            ]);
            return { found, jobs };
        },
        hears: { submission: () => "again", overview: (_, { found }) => (found.ended_at ? undefined : "again") },
        draw,
    };
}

function draw({ found, jobs }) {
    const { id, app, state } = found;
    return [
        headline([h("span.crumb", {}, h("a", { href: "/submissions" }, "Submissions"), " / "), app, wanted(found)], {
            beside: [
                h("span.badge.large", { class: sign(state).classList[1], "data-key": "state" }, badge(state)),
                found.paused_at && h("span.chip", {}, "paused"),
            ],
            acts: acts(found),
            says: h("span.mono", {}, id),
        }),
        found.reason && notice(state === "refused" || state === "failed" ? "bad" : "warn", found.reason),
        progress(found),
        h(
            "div.job",
            {},
            h("div.job-main", {}, list(jobs, id)),
            h(
                "div.job-side",
                {},
                card(
                    { title: "Request", key: "request" },
                    facts([
                        ["app", appLink(app)],
                        ["received", [ago(found.received_at, { alone: true }), " ago"]],
                        ["ended", found.ended_at && [ago(found.ended_at, { alone: true }), " ago"]],
                        ["user", found.user],
                        ["request", found.request && h("pre", {}, JSON.stringify(found.request, null, 2)), "wide"],
                    ]),
                ),
            ),
        ),
    ];
}

function acts({ id, state, paused_at }) {
    if (!mayAct()) return [];
    if (["failed", "cancelled"].includes(state))
        return [button("Run again…", () => onSubmission("retry", id), { kind: ".first" })];
    if (!["received", "active"].includes(state)) return [];
    return [
        paused_at
            ? button("Resume…", () => onSubmission("resume", id), { kind: ".first" })
            : button("Pause…", () => onSubmission("pause", id)),
        button("Cancel…", () => onSubmission("cancel", id), { kind: ".grave" }),
    ];
}

function progress({ jobs = {}, progress: how, about }) {
    const counts = STATES.filter((state) => jobs[state]).map((state) => [state, jobs[state]]);
    const total = how?.total ?? counts.reduce((sum, [, count]) => sum + count, 0);
    const ended = how?.ended ?? 0;
    const failed = counts.filter(([state]) => BAD.has(state)).reduce((sum, [, count]) => sum + count, 0);
    const badly = failed ? `, ${number(failed)} failed` : "";
    const ends = `${number(ended)} of ${counted(total, "job")} ended (${percent(ended, total)})${badly}`;
    const words = how?.about || about ? `about ${ends}` : ends;
    if (!total)
        return card(
            { key: "progress", bare: true },
            empty("The submission is not planned yet, or it has no jobs to run."),
        );
    return card(
        { title: "Progress", key: "progress", beside: h("span", { "data-key": "words" }, words) },
        h(
            "div.stack",
            {},
            partsBar(counts, words),
            h(
                "div.legend",
                {},
                counts.map(([state, count]) => badge(state, { more: number(count) })),
            ),
        ),
    );
}

function list({ jobs, next }, submission) {
    return card(
        {
            title: "Jobs",
            key: "jobs",
            bare: true,
            beside: h(
                "a",
                { href: asked("/jobs", { submission }) },
                next ? `All jobs; the newest ${JOBS_MAX} are shown here` : "Open in the list of jobs",
            ),
        },
        table({
            label: "Jobs",
            head: ["job", "state", ["round", "num secondary"], ["changed", "num"]],
            rows: jobs.map((each) => ({
                key: `${each.app}/${each.key}`,
                cells: [
                    jobLink(each.app, each.key),
                    [badge(each.state), each.late && [" ", h("span.chip.late", {}, "late")]],
                    number(each.round),
                    ago(each.changed_at),
                ],
            })),
            empty: empty("No jobs.", "All requested work was done already, or the submission is not planned yet."),
        }),
    );
}
