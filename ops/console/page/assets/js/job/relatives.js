// Jobs that a job needs, and jobs that need it.

import { h } from "../element.js";
import { card, jobLink } from "../parts.js";
import { BAD, LIVE, badge } from "../states.js";
import { number } from "../words.js";

const SHOWN_MAX = 12;

export function relatives(job) {
    return [
        family("Parents", "parents", job.parents, "It needs no other job."),
        family("Children", "children", job.children, "No job waits for it."),
        job.halves?.length > 0 && family("Split into", "halves", job.halves, ""),
        job.bisected_from && family("Half of", "half-of", [job.bisected_from], ""),
    ];
}

function family(title, key, found, none) {
    const sorted = [...(found ?? [])].sort((a, b) => weight(a[2]) - weight(b[2]));
    const more = sorted.length - SHOWN_MAX;
    return card(
        { title, key, bare: true, beside: h("span.faint", {}, number(sorted.length)) },
        sorted.length
            ? h(
                  "ul.family",
                  {},
                  sorted
                      .slice(0, SHOWN_MAX)
                      .map(([app, name, state]) =>
                          h("li", { "data-key": `${app}/${name}` }, jobLink(app, name), state && badge(state)),
                      ),
              )
            : h("p.inside.faint", {}, none),
        more > 0 && h("p.inside.faint", {}, `and ${number(more)} more`),
    );
}

/** Failed jobs come first. */
function weight(state) {
    if (BAD.has(state)) return 0;
    return LIVE.has(state) ? 1 : 2;
}
