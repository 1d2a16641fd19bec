// One job: the reason for its state, its output, its history, and its upstream and downstream jobs.

import { get, path } from "../api.js";
import { archiveJob, cancelJob, resumeJob, retryJob } from "../deeds.js";
import { h } from "../element.js";
import { GraphView } from "../graph/view.js";
import { jobNodes } from "../graph/nodes.js";
import { added, addedBy, isAdding } from "../job/added.js";
import { notifications } from "../job/notifications.js";
import { relatives } from "../job/relatives.js";
import { history } from "../job/history.js";
import { fetchResult, result } from "../job/result.js";
import { rounds } from "../job/rounds.js";
import { why } from "../job/why.js";
import { kept } from "../morph.js";
import { appLink, button, card, facts, submissionLink } from "../parts.js";
import { go, to } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { LIVE, STOPPABLE, badge, isRevivable } from "../states.js";
import { number } from "../words.js";
import { ago, exactly } from "../when.js";

const SUBMISSIONS_MAX = 8;
const NOTIFICATIONS_MAX = 10;

export function screen({ words }) {
    const [, app, ...rest] = words;
    const key = rest.join("/");
    const graph = new GraphView({
        label: `${app}/${key} with its upstream and downstream jobs`,
        chosen: (node) => node.folded < 2 && go(to("jobs", node.app, node.key)),
    });
    const texts = new Map();
    return {
        title: `${app}/${key}`,
        topics: [`job:${app}/${key}`],
        load: async (signal) => {
            const [job, reason, around, sent] = await Promise.all([
                get(path("jobs", app, key), { signal }),
                get(path("jobs", app, key, "why"), { signal }),
                get(path("jobs", app, key, "graph"), { signal }).catch(nothing),
                get("/api/notifications", { signal, query: { job: `${app}/${key}`, limit: NOTIFICATIONS_MAX } }),
            ]);
            await fetchResult(job, texts, signal).catch(nothing);
            return { job, reason, around, sent };
        },
        hears: { job: () => "again", overview: (_, data) => (mayChange(data) ? "again" : undefined) },
        draw: (data) => draw(data, graph, texts),
    };
}

/** The stream of a job reports neither the jobs that it has added nor its notifications. */
function mayChange({ job, sent }) {
    return LIVE.has(job.state) || isAdding(job) || sent.notifications.some((each) => each.state === "pending");
}

/** A job can be shown without its graph, and without its result if another request removes it meanwhile. */
function nothing(error) {
    if (error.name === "AbortError") throw error;
    return null;
}

function draw({ job, reason, around, sent }, graph, texts) {
    if (around) graph.show(jobNodes(around), { focus: around.focus });
    return [
        headline([h("span.crumb", {}, appLink(job.app), " / "), h("span.mono", {}, job.key)], {
            beside: [
                h(`span.badge.large.is-${job.state}`, { "data-key": "state" }, badge(job.state)),
                job.paused && h("span.chip", {}, "paused"),
                job.archived_at && h("span.chip", {}, "archived"),
                job.late && h("span.chip.late", {}, LIVE.has(job.state) ? "late" : "ended late"),
            ],
            acts: acts(job),
        }),
        why(reason),
        h(
            "div.job",
            {},
            h(
                "div.job-main",
                {},
                result(job, texts),
                added(job),
                rounds(job, texts),
                notifications(job, sent),
                around?.jobs.length > 1 &&
                    card(
                        {
                            title: "Upstream and downstream",
                            key: "graph",
                            bare: true,
                            foot: around.needs.some((each) => each.added)
                                ? "Dashed lines are dependencies that a job has added."
                                : null,
                        },
                        kept(graph.element),
                    ),
            ),
            h("div.job-side", {}, about(job), history(job), relatives(job)),
        ),
    ];
}

function acts(job) {
    if (!mayAct()) return [];
    const awaited = job.saga?.waits_for?.event ?? null;
    return [
        job.state === "suspended" &&
            button(awaited ? `Send “${awaited}”…` : "Resume…", () => resumeJob({ ...job, event: awaited }), {
                kind: ".first",
            }),
        isRevivable(job.state) && button("Run again…", () => retryJob(job)),
        isRevivable(job.state) && job.uncollected && button("Archive…", () => archiveJob(job)),
        STOPPABLE.has(job.state) && button("Cancel…", () => cancelJob(job), { kind: ".grave" }),
    ];
}

function about(job) {
    const tries = [
        ["fails", "failed"],
        ["timeouts", "timed out"],
        ["losses", "lost"],
    ];
    const said = tries.filter(([word]) => job[word]).map(([word, name]) => `${number(job[word])} ${name}`);
    const kwargs = Object.entries(job.kwargs ?? {});
    return card(
        { title: "Details", key: "about" },
        facts([
            ["round", said.length ? `${number(job.round)} (${said.join(", ")})` : number(job.round)],
            ["priority", job.priority ? number(job.priority) : null],
            ["not before", job.not_before && exactly(job.not_before), "wide"],
            ["end before", job.end_before && exactly(job.end_before), "wide"],
            [job.late ? "late since" : "late from", job.late_at && exactly(job.late_at), "wide"],
            ["pool", job.pool && `${job.pool}, ${number(job.pool_limit)} at once`],
            ["rate limit", job.rate_bucket],
            ["external handle", job.handle && h("code", {}, JSON.stringify(job.handle)), "wide"],
            ["work IDs", job.work_ids && shortened(job.work_ids), "wide"],
            ["saga", job.saga && h("a", { href: to("sagas", job.app, job.key) }, "steps and journal")],
            ["archived", job.archived_at && ago(job.archived_at, { alone: true })],
            ["added by", addedBy(job), "wide"],
            ["requested by", job.submissions.length ? list(job) : "no stored submission", "wide"],
            ["kwargs", kwargs.length ? h("code", {}, JSON.stringify(job.kwargs)) : null, "wide"],
            [
                "undone by",
                job.compensated_by && h("a", { href: to("jobs", ...job.compensated_by) }, job.compensated_by.join("/")),
            ],
            ["undoes", job.compensates && h("a", { href: to("jobs", ...job.compensates) }, job.compensates.join("/"))],
        ]),
    );
}

/** The newest submissions first. */
function list({ submissions, counts }) {
    const shown = submissions.slice(-SUBMISSIONS_MAX).reverse();
    return h(
        "ul",
        {},
        shown.map((id) => h("li", {}, submissionLink(id))),
        more(counts.submissions - shown.length),
    );
}

function more(count) {
    return count > 0 && h("li.faint", {}, `and ${number(count)} more`);
}

function shortened(ids) {
    const text = ids.slice(0, 12).join(", ");
    return ids.length > 12 ? `${text} … (${number(ids.length)})` : text;
}
