// The reason for a job's state, its obstacles, and remedies.

import { h } from "../element.js";
import { command, jobLink } from "../parts.js";
import { badge } from "../states.js";
import { sentence } from "../words.js";
import { ago } from "../when.js";

const LEADS = { cause: "because of", lost: "lost", refusal: "but", root: "ultimately waits for" };
const BAD = new Set(["cause", "lost", "refusal"]);
const SHOWN_MAX = 12;

export function why(answer) {
    // A job's own name is not capitalized.
    const because = answer.because.startsWith(answer.app) ? answer.because : sentence(answer.because);
    const found = answer.waits_for ?? [];
    return h(
        `section.why.is-${answer.state ?? "expected"}`,
        { "aria-label": "Why", "data-key": "why" },
        h(
            "p.why-because",
            {},
            `${because.replace(/\.$/, "")}.`,
            answer.since && h("span.faint", {}, " for ", ago(answer.since, { alone: true })),
        ),
        found.length > 0 && h("ul.why-waits", {}, found.slice(0, SHOWN_MAX).map(reason)),
        found.length > SHOWN_MAX && h("p.faint", {}, `and ${found.length - SHOWN_MAX} more`),
        answer.remedies?.length > 0 &&
            h(
                "details.why-help",
                {},
                h("summary", {}, "Remedies, as commands"),
                answer.remedies.map((each) => command(each.command, each.effect)),
            ),
    );
}

function reason(each) {
    const named = each.app && each.key ? jobLink(each.app, each.key) : null;
    const told = named && each.what.includes(`${each.app}/${each.key}`) ? around(each, named) : each.what;
    return h(
        `li${BAD.has(each.kind) ? ".bad" : ""}`,
        {},
        h("span.faint", {}, `${LEADS[each.kind] ?? "waits for"} `),
        told,
        each.state && !each.what.includes(each.state) && [" ", badge(each.state)],
        each.since && h("span.faint", {}, ", for ", ago(each.since, { alone: true })),
    );
}

/** Make the name inside the sentence a link to the job. */
function around({ app, key, what }, link) {
    const name = `${app}/${key}`;
    const at = what.indexOf(name);
    return [what.slice(0, at), link, what.slice(at + name.length)];
}
