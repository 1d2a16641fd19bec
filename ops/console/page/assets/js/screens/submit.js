// Form for a submission: an app, its jobs, and the policy for their runs.

import { get, path, post } from "../api.js";
import { ask } from "../dialog.js";
import { h } from "../element.js";
import { choice, field, line, radios } from "../fields.js";
import { button, card, empty, notice } from "../parts.js";
import { asked, go, to } from "../router.js";
import { maySubmit } from "../session.js";
import { headline } from "../stage.js";
import { POLICY, requestOf } from "../submit/request.js";
import { showWay, which } from "../submit/which.js";
import { failed, told } from "../toast.js";

export function screen({ query }) {
    const app = query.get("app");
    return {
        title: "Submit",
        kind: "submit",
        load: async (signal) => {
            const [picture, about] = await Promise.all([
                get("/api/graph", { signal }),
                app && get(path("apps", app), { signal }),
            ]);
            return { names: picture.apps.map((each) => each.name).sort(), about };
        },
        draw: ({ names, about }) => draw(names, about, query),
        shown: (root) => root.querySelector("form.submit")?.dispatchEvent(new Event("input")),
    };
}

function draw(names, about, query) {
    if (!maySubmit())
        return [
            headline("Submit"),
            notice("warn", "This token is read-only.", "Sign in with a token of the role submit or operate."),
        ];
    if (!names.length)
        return [
            headline("Submit"),
            card(
                { bare: true },
                empty("No apps are defined.", "Start Sluice with their definitions: sluice --apps SOURCE up"),
            ),
        ];
    return [
        headline("Submit", { says: "Sluice plans the jobs with all missing dependencies, and runs them." }),
        h(
            "form.submit",
            {
                "data-key": about ? `of ${about.app}` : "app",
                on: { submit: (event) => send(event, about), input: (event) => echo(event.currentTarget, about) },
            },
            card({ key: "app" }, picker(names, about)),
            about && card({ title: "Jobs", key: "jobs" }, h("div.stack-wide", {}, which(about, query))),
            about && more(about),
            about &&
                card(
                    { title: "Request", key: "sent" },
                    h("pre", { "data-sent": "", "aria-live": "polite" }, JSON.stringify({ app: about.app }, null, 2)),
                ),
            about &&
                h(
                    "div.acts",
                    {},
                    h("button.button.first", {}, "Submit…"),
                    button("Start over", () => go("/submit")),
                ),
        ),
    ];
}

function picker(names, about) {
    const pick = (event) => {
        const name = event.target.value.trim();
        if (names.includes(name) && name !== about?.app) go(asked("/submit", { app: name }), { replace: true });
    };
    const input = line("app", {
        list: "apps",
        value: about?.app ?? "",
        placeholder: "Type the name of an app",
        autofocus: !about,
        on: { input: pick, change: pick },
    });
    return [
        h("div.fields", {}, field({ label: "App", help: `${names.length} apps are defined`, input })),
        h(
            "datalist",
            { id: "apps" },
            names.map((each) => h("option", { value: each })),
        ),
        !about &&
            names.length <= 40 &&
            h(
                "div.pills.picks",
                {},
                names.map((each) => h("a.pill", { href: asked("/submit", { app: each }) }, each)),
            ),
    ];
}

function more(about) {
    return h(
        "details.card",
        { "data-key": "more" },
        h("summary.inside", {}, "Options"),
        h(
            "div.inside.stack-wide",
            {},
            radios(
                "rerun",
                "Jobs that have ended already",
                [
                    ["", "do not run again"],
                    ["job", "run again"],
                    ["downstream", "run again, with all downstream jobs"],
                ],
                "",
            ),
            h(
                "div.fields",
                {},
                field({
                    label: "push",
                    help: "children to run after a success",
                    input: choice(
                        "push",
                        [
                            ["all", "all children"],
                            ["wanted", "only requested children"],
                        ],
                        "all",
                    ),
                }),
                field({ label: "id", help: "a repeated id is the same submission", input: line("id") }),
                field({ label: "user", help: "name of the submitting user", input: line("user") }),
            ),
            field({
                label: "kwargs",
                help: "JSON object of parameters for the jobs",
                input: h("textarea", { name: "kwargs", rows: 3, spellcheck: "false", placeholder: '{"fast": true}' }),
            }),
            h(
                "div.fields",
                {},
                POLICY.map(([name, help]) =>
                    field({ label: name, help, input: line(name, { placeholder: standard(about, name) }) }),
                ),
            ),
        ),
    );
}

/** Return the default of the app, which applies to an empty field. */
function standard({ policy }, name) {
    const found = policy?.[name] ?? policy?.[`${name}_s`];
    return found === null || found === undefined || found === 0 ? null : String(found);
}

/** Show the request while the form is filled in. */
function echo(form, about) {
    if (!about) return;
    showWay(form);
    let text;
    try {
        text = JSON.stringify(requestOf(about, new FormData(form)), null, 2);
    } catch (error) {
        text = error.message;
    }
    form.querySelector("[data-sent]").textContent = text;
}

async function send(event, about) {
    event.preventDefault();
    if (!about) return;
    try {
        const request = requestOf(about, new FormData(event.target));
        const agreed = await ask({
            title: "Submit this?",
            name: named(request),
            says: [
                "Sluice plans the jobs with all missing dependencies. Finished jobs run again only if you chose that.",
            ],
            verb: "Submit",
        });
        if (agreed === null) return;
        const { submission } = await post("/api/submissions", request);
        told(`Submission ${submission} was received.`);
        go(to("submissions", submission));
    } catch (error) {
        failed(error);
    }
}

function named({ app, key, keys, work_ids, start, end, rerun }) {
    const span = start || end ? ` from ${start ?? "…"} to ${end ?? "…"}` : "";
    const jobs = key
        ? `/${key}`
        : keys
          ? `: ${keys.length} keys`
          : work_ids
            ? `: work IDs ${work_ids}`
            : span || ": all jobs that the definition lists";
    return `${app}${jobs}${rerun ? `, with rerun ${rerun}` : ""}`;
}
