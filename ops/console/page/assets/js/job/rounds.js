// Output and outcome of each round of a job, the last first. Output of earlier rounds is fetched on request.

import { path, text } from "../api.js";
import { h } from "../element.js";
import { button, card, empty } from "../parts.js";
import { redraw } from "../stage.js";
import { sign } from "../states.js";
import { failed } from "../toast.js";
import { counted, number, plain, span } from "../words.js";
import { ago } from "../when.js";

/** State whose appearance an ending uses, if the ending is not the name of a state. */
const LIKE = {
    done: "succeeded",
    error: "failed",
    undo_failed: "fatal",
    handed_back: "cancelled",
    not_started: "cancelled",
    version_unavailable: "cancelled",
    detached: "running",
};
const LINES_MAX = 400;
const TEXTS_MAX = 20;

/** @param {any} job @param {Map<string, string>} known output that was sent or fetched, by its address */
export function rounds(job, known) {
    const found = [...job.rounds].reverse();
    const all = job.counts.rounds;
    const told = all > found.length ? `the last ${found.length} of ${number(all)} claims` : counted(all, "claim");
    return card(
        { title: "Rounds", key: "rounds", bare: true, beside: h("span.faint", {}, told) },
        found.length
            ? found.map((each, at) => round(job, each, known, at === 0))
            : empty("The job has not run yet.", "Its output is shown here while a worker runs it."),
    );
}

function round(job, each, known, is_last) {
    const state = each.ending ? (LIKE[each.ending] ?? each.ending) : each.at.executed ? "executed" : "running";
    return h(
        "details.round",
        { open: is_last, "data-key": String(each.claim) },
        h(
            "summary",
            {},
            h(`span.badge.is-${state}`, {}, sign(state), `round ${each.round}`),
            h("span", {}, each.ending ? plain(each.ending) : state),
            each.took_s !== null && h("span.faint", {}, span(each.took_s)),
            each.exit_code !== null &&
                each.exit_code !== undefined &&
                h("span.faint", {}, `exit code ${each.exit_code}`),
            h(
                "span.round-where.faint",
                {},
                ago(each.at.running, { alone: true }),
                " ago",
                each.worker && [" on ", h("span.mono", {}, each.worker)],
            ),
        ),
        // A program that succeeded may have written to stderr, which is shown as such.
        each.error && each.ending !== "done" && part("error", each.error, "bad"),
        each.error_after_commit && part("error after its transaction was committed", each.error_after_commit, "bad"),
        output(job, each, "output", known),
        output(job, each, "stderr", known),
        each.log && part("log", each.log),
        !each.error &&
            !each.error_after_commit &&
            !each.output_bytes &&
            !each.stderr_bytes &&
            !each.log &&
            h("p.inside.faint", {}, each.ending ? "The job printed nothing." : "The job has printed nothing yet."),
    );
}

function output(job, each, which, known) {
    if (!each[`${which}_bytes`]) return null;
    const whole = path("jobs", job.app, job.key, "rounds", String(each.claim), which);
    const name = which === "output" ? "output" : "standard error";
    const link = h(
        "a",
        { href: `${whole}?download`, download: `${job.app}-${job.key}-${each.claim}.${which}.txt` },
        each[`${which}_blob`] ? "complete output" : "download",
    );
    // Keep the text for the reader when another round begins, because it is not sent any more then. The text of a round
    // that runs still grows.
    if (each[which] && each.ending) keep(known, whole, each[which]);
    const printed = each[which] || known.get(whole);
    if (printed !== undefined) return part(name, printed, "", link);
    return h("div.output", {}, h("div.output-head", {}, h("span", {}, name), show(whole, name, known), link));
}

function show(whole, name, known) {
    const fetch = async () => {
        try {
            keep(known, whole, await text(whole));
            redraw();
        } catch (error) {
            failed(error);
        }
    };
    return button(`Show ${name}`, fetch, { kind: ".bare" });
}

/** Keep only the last few texts. */
export function keep(known, address, printed) {
    known.delete(address);
    known.set(address, printed);
    if (known.size > TEXTS_MAX) known.delete(known.keys().next().value);
}

function part(name, printed, kind = "", link = null) {
    const lines = printed.split("\n");
    const shown =
        lines.length > LINES_MAX
            ? [`… ${lines.length - LINES_MAX} earlier lines`, ...lines.slice(-LINES_MAX)].join("\n")
            : printed;
    return h(
        `div.output${kind && `.${kind}`}`,
        {},
        h("div.output-head", {}, h("span", {}, name), link),
        h("pre", { tabindex: "0", role: "region", "aria-label": name }, shown.replace(/\n$/, "")),
    );
}
