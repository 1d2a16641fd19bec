// The request of a submission: only the fields that were filled in.

import { readJson } from "../fields.js";

const NUMBERS = ["max_fails", "max_timeouts", "max_losses", "priority"];
const TEXTS = ["timeout", "start_after", "end_before", "random_start_offset"];

export const POLICY = [
    ["max_fails", "retries after failures"],
    ["max_timeouts", "retries after timeouts"],
    ["max_losses", "retries after the loss of a worker"],
    ["timeout", "for example 10m"],
    ["priority", "a whole number; higher runs first"],
    ["start_after", "for example 2026-11-20T02:00"],
    ["end_before", "jobs that have not ended by then expire"],
    ["random_start_offset", "for example 5m"],
];

/** @param {any} about the app @param {FormData} filled @returns {Record<string, any>} or throws an error */
export function requestOf(about, filled) {
    const word = (name) => String(filled.get(name) ?? "").trim() || undefined;
    const found = {
        app: about.app,
        ...jobsOf(about, filled, word),
        mode: word("mode"),
        branch: word("branch"),
        kwargs: readJson(word("kwargs"), "kwargs"),
        rerun: word("rerun"),
        push: word("push") === "wanted" ? "wanted" : undefined,
        user: word("user"),
        id: word("id"),
        policy: policyOf(word),
    };
    return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

function jobsOf(about, filled, word) {
    if (about.partitions) return { start: word("start"), end: word("end"), by: slicesOf(about.partitions, word) };
    if (about.chunks) return { work_ids: word("work_ids") };
    if (filled.get("way") === "keys")
        return {
            keys: (word("keys") ?? "")
                .split("\n")
                .map((each) => each.trim())
                .filter(Boolean),
        };
    return filled.get("way") === "one" ? { key: keyOf(about, word) } : {};
}

/** The chosen slices of a table with a second dimension; undefined if none is chosen. */
function slicesOf({ partition }, word) {
    const values = (word("by") ?? "").split(",").map((each) => each.trim()).filter(Boolean);
    const [name] = Object.keys(partition.by);
    return name && values.length ? { [name]: values } : undefined;
}

/** The template with its identifiers filled in. */
function keyOf({ job_id, identifiers }, word) {
    const missing = Object.keys(identifiers).filter((name) => word(`id:${name}`) === undefined);
    if (missing.length)
        throw Object.assign(new Error(`${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} missing.`), {
            advice: `A key is ${job_id}; or submit all jobs that the definition lists.`,
        });
    return job_id.replace(/\{([^{}]+)\}/g, (_, name) => word(`id:${name.split(":")[0]}`) ?? "");
}

function policyOf(word) {
    const pairs = [...NUMBERS.map((name) => [name, numberOf(word(name))]), ...TEXTS.map((name) => [name, word(name)])];
    const given = pairs.filter(([, value]) => value !== undefined);
    return given.length ? Object.fromEntries(given) : undefined;
}

/** A text that is no number is sent unchanged, so that the server refuses it with its own message. */
function numberOf(text) {
    return text === undefined || Number.isNaN(Number(text)) ? text : Number(text);
}
