// Jobs that a job has added while it ran: by app, folded into counts, and the jobs that follow them.

import { partsBar } from "../charts.js";
import { h } from "../element.js";
import { card, jobLink } from "../parts.js";
import { asked } from "../router.js";
import { LIVE, STATES, badge, sign } from "../states.js";
import { counted, number, plain } from "../words.js";

/** Returns null if the job has never added jobs. */
export function added(job) {
    if (!job.added) return null;
    const groups = Object.entries(job.added.groups);
    return card(
        { title: "Added jobs", key: "added" },
        h(
            "div.stack",
            {},
            !job.added.is_planned && h("p.faint", {}, "The jobs that its last run adds are not planned yet."),
            groups.map(([app, states]) => group(job, app, states)),
            !groups.length && job.added.is_planned && h("p.faint", {}, "Its last run added no jobs."),
            job.added.then.length > 0 &&
                h(
                    "p",
                    { "data-key": "then" },
                    h("span.faint", {}, "followed by "),
                    job.added.then.map(([app, key, state], at) => [
                        at > 0 && ", ",
                        jobLink(app, key),
                        " ",
                        badge(state),
                    ]),
                ),
        ),
    );
}

/** True if an added job may still change, or is to be planned. */
export function isAdding({ added: found }) {
    if (!found) return false;
    const states = [...Object.values(found.groups).flatMap(Object.keys), ...found.then.map(([, , state]) => state)];
    return !found.is_planned || states.some((state) => LIVE.has(state));
}

/** The jobs that have added this job, as links. */
export function addedBy({ added_by: found }) {
    return found.length ? found.map(([app, key], at) => [at > 0 && ", ", jobLink(app, key)]) : null;
}

function group(job, app, states) {
    const present = STATES.filter((state) => states[state]).map((state) => [state, states[state]]);
    const total = present.reduce((sum, [, count]) => sum + count, 0);
    const list = (state) => asked("/jobs", { app, added_by: `${job.app}/${job.key}`, state });
    return h(
        "div.stack",
        { "data-key": app },
        h("a.strong", { href: list(null) }, `${counted(total, "job")} of ${app}`),
        partsBar(present, present.map(([state, count]) => `${number(count)} ${plain(state)}`).join(", ")),
        h(
            "div.pills",
            {},
            present.map(([state, count]) =>
                h(
                    `a.pill.is-${state}`,
                    { href: list(state), "data-key": state },
                    sign(state),
                    plain(state),
                    h("span.faint", {}, number(count)),
                ),
            ),
        ),
    );
}
