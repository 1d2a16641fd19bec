// All actions of the page: each has a title, an explanation, a call and a text for the result.

import { act } from "./act.js";
import { path, post } from "./api.js";
import { h } from "./element.js";
import { choice, field, line, radios, readJson } from "./fields.js";
import { counted, number, plain } from "./words.js";

export function cancelJob({ app, key, state }) {
    return act({
        question: {
            title: "Cancel this job?",
            name: `${app}/${key}`,
            says: [
                `It is ${plain(state)} now, and is cancelled for all submissions.`,
                state === "running" ? "The running round is stopped." : "It will not be started.",
                "Jobs that need it can then not run. A saga is undone first. You can run the job again later.",
            ],
            verb: "Cancel the job",
            grave: true,
        },
        call: () => post(path("jobs", app, key, "cancel")),
        came: ({ cancelled, undone_first }) =>
            undone_first
                ? `${app}/${key} is being undone, and is then cancelled.`
                : `${app}/${key}: ${counted(cancelled, "job")} cancelled.`,
    });
}

export function retryJob({ app, key, state }) {
    return act({
        question: {
            title: "Run this job again?",
            name: `${app}/${key}`,
            says: [`Its state is ${plain(state)}. Its history stays, and a new round begins.`],
            verb: "Run it again",
            fields: [
                radios(
                    "rerun",
                    "Jobs to run again",
                    [
                        ["job", "this job; jobs that failed because of it may run again"],
                        ["downstream", "this job and all downstream jobs"],
                    ],
                    "job",
                ),
            ],
        },
        call: ({ rerun }) => post(path("jobs", app, key, "retry"), { rerun }),
        came: ({ submission }) => `${app}/${key} is requested again, by submission ${submission}.`,
    });
}

/** @param {{app: string, key: string, event: string | null}} job that waits for an event, for example a saga */
export function resumeJob({ app, key, event }) {
    return act({
        question: {
            title: event ? `Send “${event}”?` : "Resume this job?",
            name: `${app}/${key}`,
            says: [
                event
                    ? `The job waits for the event “${event}”, and continues with the payload that you send.`
                    : "The job waits to be resumed, and then continues.",
            ],
            verb: event ? "Send it" : "Resume it",
            fields: [
                field({
                    label: "Payload",
                    help: "JSON for its step; may be empty",
                    input: h("textarea", { name: "payload", spellcheck: "false" }, event ? '{"ok": true}' : ""),
                }),
            ],
        },
        call: async ({ payload }) => {
            const found = readJson(payload, "The payload");
            const body = { ...(event ? { event } : {}), ...(found === undefined ? {} : { payload: found }) };
            return post(path("jobs", app, key, "resume"), body);
        },
        came: (answer) =>
            `${app}/${key}: ${event ? `“${event}” was sent` : "resumed"}; ${answerOf(answer.became)}.`,
    });
}

export function archiveJob({ app, key }) {
    return act({
        question: {
            title: "Archive this job?",
            name: `${app}/${key}`,
            says: ["Its result counts as collected, and it is no longer listed as uncollected. The result is kept."],
            verb: "Archive it",
        },
        call: () => post(path("jobs", app, key, "archive")),
        came: () => `${app}/${key} is archived.`,
    });
}

const OF_SUBMISSIONS = {
    cancel: {
        title: "Cancel this submission?",
        says: ["Its jobs are cancelled, including running jobs, unless another submission requests them."],
        verb: "Cancel the submission",
        grave: true,
        came: ({ cancelled }) => `${counted(cancelled, "job")} cancelled.`,
    },
    retry: {
        title: "Run the unsuccessful jobs again?",
        says: ["Its failed jobs, and jobs that could not run because of them, run again. It succeeds if they do."],
        verb: "Run them again",
        came: () => "It runs again.",
    },
    pause: {
        title: "Pause this submission?",
        says: ["Running jobs continue to their end. No other job of it starts until it is resumed."],
        verb: "Pause it",
        came: () => "It is paused.",
    },
    resume: {
        title: "Resume this submission?",
        says: ["Its jobs may start again, as soon as their dependencies are met."],
        verb: "Resume it",
        came: () => "It is resumed.",
    },
};

export function onSubmission(verb, id) {
    const { came, ...question } = OF_SUBMISSIONS[verb];
    return act({
        question: { ...question, name: id },
        call: () => post(path("submissions", id, verb)),
        came: (answer) => `Submission ${id}: ${came(answer)}`,
    });
}

const OF_SCHEDULES = {
    pause: {
        title: "Pause this schedule?",
        says: ["It does not fire until it is resumed. Jobs that it has submitted continue."],
        verb: "Pause it",
        came: () => "is paused",
    },
    resume: {
        title: "Resume this schedule?",
        says: [
            "It fires again from its next due time on. Its catch-up rule applies to missed due times.",
        ],
        verb: "Resume it",
        came: () => "is resumed",
    },
    fire: {
        title: "Fire this schedule now?",
        says: ["It makes the same submission as at its next due time, once. Its due times do not change."],
        verb: "Fire it now",
        came: ({ submission }) => `was fired, as submission ${submission}`,
    },
};

export function onSchedule(verb, { id, app }) {
    const { came, ...question } = OF_SCHEDULES[verb];
    return act({
        question: { ...question, name: `${id} → ${app}` },
        call: () => post(path("schedules", id, verb)),
        came: (answer) => `Schedule ${id} ${came(answer)}.`,
    });
}

export function onApp(verb, app) {
    const is_pause = verb === "pause";
    return act({
        question: {
            title: is_pause ? "Pause this app?" : "Resume this app?",
            name: app,
            says: [
                is_pause
                    ? "None of its jobs starts until it is resumed. Running jobs continue to their end."
                    : "Its jobs may start again.",
            ],
            verb: is_pause ? "Pause it" : "Resume it",
        },
        call: () => post(path("apps", app, verb)),
        came: () => `${app} ${is_pause ? "is paused" : "is resumed"}.`,
    });
}

/** @param {{table: string | null, partitions: string[], tables: string[], again?: boolean}} about no table: ask */
export function land({ table, partitions, tables, again = false }) {
    const help = "Separated by spaces, for example 2024-04-01 2024-04-02";
    return act({
        question: {
            title: again ? "Land these partitions again?" : "Land partitions?",
            name: table,
            says: again
                ? ["Their contents are new. Partitions made from them become stale.", "This cannot be undone."]
                : ["Jobs that wait for them start. This cannot be undone."],
            verb: again ? "Land them again" : "Land them",
            grave: true,
            fields: [
                !table &&
                    field({
                        label: "Table",
                        input: choice(
                            "table",
                            tables.map((each) => [each, each]),
                        ),
                    }),
                field({
                    label: "Partitions",
                    help,
                    input: line("partitions", { value: partitions.join(" "), required: true }),
                }),
            ],
        },
        call: (filled) =>
            post(path("partitions", table ?? filled.table, "land"), {
                partitions: filled.partitions.split(/[\s,]+/).filter(Boolean),
                again,
            }),
        came: ({ landed, again: repeated, stale }) =>
            `${counted(landed, "partition")} landed${again ? `, ${number(repeated)} again; ${staleOf(stale)}` : ""}.`,
    });
}

function staleOf(found) {
    const parts = Object.entries(found).map(([table, count]) => `${number(count)} of ${table}`);
    return parts.length ? `stale now: ${parts.join(", ")}` : "nothing was made from them";
}

/** @param {{table: string | null, partitions: string[]}} about partitions of the table; table null: all tables */
export function restate({ table, partitions }) {
    return act({
        question: {
            title: "Make stale partitions again?",
            name: table && [table, ...partitions].join(", "),
            says: [
                table
                    ? "This partition and all partitions made from it are made again, if they are stale."
                    : "All stale partitions of all tables are made again, with one submission for each app.",
            ],
            verb: "Make them again",
        },
        call: () => post(path("partitions", "restate"), { table, partitions }),
        came: ({ submissions }) =>
            submissions.length ? `${counted(submissions.length, "submission")} received.` : "No partition is stale.",
    });
}

/** @param {{ids?: string[], all?: boolean, name: string}} events whose delivery was given up */
export function sendAgain({ name, ...events }) {
    return act({
        question: {
            title: "Send again?",
            name,
            says: ["The delivery is attempted again, under the same id. A receiver that already has it gets it twice."],
            verb: "Send again",
        },
        call: () => post(path("notifications", "retry"), events),
        came: ({ again }) => `${counted(again, "delivery is", "deliveries are")} attempted again.`,
    });
}

export function forceDone({ app, key }) {
    return act({
        question: {
            title: "Mark this undo as done?",
            name: `${app}/${key}`,
            says: [
                "The step with the failed undo counts as undone, and the steps before it are undone next.",
                "Confirm only after you have corrected by hand all effects of this step.",
            ],
            verb: "Mark as done",
            grave: true,
            fields: [
                field({
                    label: "Note",
                    help: "The work done by hand; it is kept in the journal",
                    input: line("note", { required: true }),
                }),
            ],
        },
        call: ({ note }) => post(path("sagas", app, key, "force-done"), { note }),
        came: () => `${app}/${key}: its undo continues.`,
    });
}

export function retryUndo({ app, key }) {
    return act({
        question: {
            title: "Try this undo again?",
            name: `${app}/${key}`,
            says: ["The step with the failed undo is undone again, and then the steps before it."],
            verb: "Try it again",
        },
        call: () => post(path("sagas", app, key, "retry-undo")),
        came: () => `${app}/${key}: its undo is tried again.`,
    });
}

function answerOf(became) {
    return became ? `it is ${plain(became)} now` : "the planner has not processed it yet";
}
