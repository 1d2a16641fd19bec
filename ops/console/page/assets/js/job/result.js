// Result of a job: the value that its function returned, as indented JSON.

import { path, text } from "../api.js";
import { h } from "../element.js";
import { card } from "../parts.js";
import { keep } from "./rounds.js";

/**
 * Fetch the text of a result once for each claim. The document has the value too, but a browser rounds large numbers.
 *
 * @param {any} job @param {Map<string, string>} known texts that were fetched, by address and claim
 */
export async function fetchResult(job, known, signal) {
    if (job.result === null || known.has(name(job))) return;
    keep(known, name(job), await text(address(job), { signal }));
}

/** Returns null if the job has no result, and none is expected. */
export function result(job, known) {
    if (job.result_pending !== null) return note(`No result: ${job.result_pending}.`);
    if (job.result_blob !== null) return note("The result is in the blob store. ", link(job, "Download it"));
    const printed = known.get(name(job));
    if (job.result === null || printed === undefined) return null;
    return card(
        { title: "Result", key: "result", bare: true },
        h(
            "div.output",
            {},
            h("div.output-head", {}, h("span", {}, "JSON"), link(job, "download")),
            h("pre", { tabindex: "0", role: "region", "aria-label": "JSON" }, printed),
        ),
    );
}

function note(...words) {
    return card({ title: "Result", key: "result" }, h("p.faint", {}, words));
}

function link(job, words) {
    return h("a", { href: `${address(job)}?download`, download: `${job.app}-${job.key}.json` }, words);
}

function address(job) {
    return path("jobs", job.app, job.key, "result");
}

function name(job) {
    return `${address(job)} of claim ${job.claim}`;
}
