// What each round of a job printed and came to, the last first.

import { path } from "../api.js";
import { h } from "../element.js";
import { card, empty } from "../parts.js";
import { sign } from "../states.js";
import { counted, plain, span } from "../words.js";
import { ago } from "../when.js";

/** How a round's ending looks, where it is not a state's own name. */
const LIKE = {
    done: "succeeded",
    error: "failed",
    dismal: "fatal",
    handed_back: "cancelled",
    not_begun: "cancelled",
    not_here: "cancelled",
    goes_on: "running",
};
const LINES_MAX = 400;

export function rounds(job) {
    const found = [...(job.rounds ?? [])].reverse();
    return card(
        { title: "Rounds", key: "rounds", bare: true, beside: h("span.faint", {}, counted(found.length, "claim")) },
        found.length
            ? found.map((each, at) => round(job, each, at === 0))
            : empty("It has not run yet.", "What it prints is shown here once a worker has run it."),
    );
}

function round(job, each, is_last) {
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
        each.error && part("error", each.error, "bad"),
        output(job, each, "output"),
        output(job, each, "stderr"),
        each.log && part("log", each.log),
        !each.error &&
            !each.output &&
            !each.stderr &&
            !each.log &&
            h("p.inside.faint", {}, each.ending ? "It printed nothing." : "What it prints is shown once it is over."),
    );
}

function output(job, each, which) {
    const whole = path("jobs", job.app, job.key, "rounds", String(each.claim), which);
    const link = h(
        "a",
        { href: `${whole}?download`, download: `${job.app}-${job.key}-${each.claim}.${which}.txt` },
        each[`${which}_blob`] ? "the whole of it" : "download",
    );
    return each[which] && part(which === "output" ? "output" : "standard error", each[which], "", link);
}

function part(name, text, kind = "", link = null) {
    const lines = text.split("\n");
    const shown =
        lines.length > LINES_MAX
            ? [`… ${lines.length - LINES_MAX} lines before`, ...lines.slice(-LINES_MAX)].join("\n")
            : text;
    return h(
        `div.output${kind && `.${kind}`}`,
        {},
        h("div.output-head", {}, h("span", {}, name), link),
        h("pre", { tabindex: "0", role: "region", "aria-label": name }, shown.replace(/\n$/, "")),
    );
}
