// Everything that can be done from the page: what it is called, what it says first, the call, and what came of it.

import { act } from "./act.js";
import { path, post } from "./api.js";
import { h } from "./element.js";
import { choice, field, line, radios, readJson } from "./fields.js";
import { counted, plain } from "./words.js";

export function cancelJob({ app, key, state }) {
    return act({
        question: {
            title: "Cancel this job?",
            name: `${app}/${key}`,
            says: [
                `It is ${plain(state)} now, and is stopped, whoever wants it.`,
                state === "running" ? "What runs of it is ended." : "It will not be started.",
                "What needs it cannot run then. What a saga has done is undone first. It can be run again later.",
            ],
            verb: "Cancel the job",
            grave: true,
        },
        call: () => post(path("jobs", app, key, "cancel")),
        came: ({ cancelled, undone_first }) =>
            undone_first
                ? `${app}/${key} is being undone, and is cancelled then.`
                : `${app}/${key}: ${counted(cancelled, "job")} cancelled.`,
    });
}

export function retryJob({ app, key, state }) {
    return act({
        question: {
            title: "Run this job again?",
            name: `${app}/${key}`,
            says: [`It came to ${plain(state)}. Its history stays, and a new round begins.`],
            verb: "Run it again",
            fields: [
                radios(
                    "rerun",
                    "What runs again",
                    [
                        ["job", "this job; what died because of it is given another chance"],
                        ["downstream", "this job and everything that comes after it"],
                    ],
                    "job",
                ),
            ],
        },
        call: ({ rerun }) => post(path("jobs", app, key, "retry"), { rerun }),
        came: ({ submission }) => `${app}/${key} is asked for again, by submission ${submission}.`,
    });
}

/** @param {{app: string, key: string, event: string | null}} job of a saga, say, that waits for an event */
export function resumeJob({ app, key, event }) {
    return act({
        question: {
            title: event ? `Send “${event}”?` : "Let it go on?",
            name: `${app}/${key}`,
            says: [
                event
                    ? `It waits for the event “${event}”. It goes on with what you send.`
                    : "It waits for somebody to say so. It goes on.",
            ],
            verb: event ? "Send it" : "Go on",
            fields: [
                field({
                    label: "Payload",
                    hint: "JSON that its step is given; may be left empty",
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
            `${app}/${key}: ${event ? `“${event}” was sent` : "told to go on"}; ${answerOf(answer.became)}.`,
    });
}

export function archiveJob({ app, key }) {
    return act({
        question: {
            title: "Archive this job?",
            name: `${app}/${key}`,
            says: ["Its result counts as collected, and it is no longer listed as uncollected. What it came to stays."],
            verb: "Archive it",
        },
        call: () => post(path("jobs", app, key, "archive")),
        came: () => `${app}/${key} is archived.`,
    });
}

const OF_SUBMISSIONS = {
    cancel: {
        title: "Cancel this submission?",
        says: ["Its jobs that nobody else wants are cancelled, also those that run. What others want goes on."],
        verb: "Cancel the submission",
        grave: true,
        came: ({ cancelled }) => `${counted(cancelled, "job")} cancelled.`,
    },
    retry: {
        title: "Run the unsuccessful jobs again?",
        says: ["Its jobs that failed, or could not run because of those, run again. It succeeds when they do."],
        verb: "Run them again",
        came: () => "It runs again.",
    },
    pause: {
        title: "Pause this submission?",
        says: ["What runs goes on to its end; nothing else of it starts until it is resumed."],
        verb: "Pause it",
        came: () => "It is paused.",
    },
    resume: {
        title: "Resume this submission?",
        says: ["Its jobs may start again, as soon as what they need is there."],
        verb: "Resume it",
        came: () => "It goes on.",
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
        says: ["It fires no more until it is resumed. What it has started goes on."],
        verb: "Pause it",
        came: () => "is paused",
    },
    resume: {
        title: "Resume this schedule?",
        says: [
            "It fires again from its next due time on. What was due meanwhile is treated as its catch-up rule says.",
        ],
        verb: "Resume it",
        came: () => "goes on",
    },
    fire: {
        title: "Fire this schedule now?",
        says: ["It submits once what it would submit at its next due time; its due times stay as they are."],
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
                    ? "No job of it starts until it is resumed. What runs goes on to its end."
                    : "Its jobs may start again.",
            ],
            verb: is_pause ? "Pause it" : "Resume it",
        },
        call: () => post(path("apps", app, verb)),
        came: () => `${app} ${is_pause ? "is paused" : "goes on"}.`,
    });
}

/** @param {{table: string | null, partitions: string[], tables: string[]}} what a table is asked for where none is */
export function land({ table, partitions, tables }) {
    const hint = "Separated by spaces, such as 2024-04-01 2024-04-02";
    return act({
        question: {
            title: "Say that partitions have landed?",
            name: table,
            says: ["Whatever waits for them starts. This cannot be taken back."],
            verb: "They are there",
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
                    hint,
                    input: line("partitions", { value: partitions.join(" "), required: true }),
                }),
            ],
        },
        call: (filled) =>
            post(path("partitions", table ?? filled.table, "land"), {
                partitions: filled.partitions.split(/[\s,]+/).filter(Boolean),
            }),
        came: ({ landed }) => `${counted(landed, "partition")} landed.`,
    });
}

export function forceDone({ app, key }) {
    return act({
        question: {
            title: "Say that this undo is done?",
            name: `${app}/${key}`,
            says: [
                "The step whose undo failed counts as undone, and the steps before it are undone next.",
                "Do it only once the world is as that undo would have left it.",
            ],
            verb: "It is done",
            grave: true,
            fields: [
                field({
                    label: "Note",
                    hint: "What was done by hand; it is kept in the journal",
                    input: line("note", { required: true }),
                }),
            ],
        },
        call: ({ note }) => post(path("sagas", app, key, "force-done"), { note }),
        came: () => `${app}/${key}: its undo goes on.`,
    });
}

export function retryUndo({ app, key }) {
    return act({
        question: {
            title: "Try this undo again?",
            name: `${app}/${key}`,
            says: ["The step whose undo failed is undone anew, and then the steps before it."],
            verb: "Try it again",
        },
        call: () => post(path("sagas", app, key, "retry-undo")),
        came: () => `${app}/${key}: its undo is tried again.`,
    });
}

function answerOf(became) {
    return became ? `it is ${plain(became)} now` : "it is taken up when it gets there";
}
