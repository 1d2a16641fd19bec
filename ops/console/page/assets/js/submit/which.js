// Fields for the jobs to submit. They depend on how the app keys its jobs.

import { h } from "../element.js";
import { field, line, radios } from "../fields.js";

const KEYS_SHOWN = 3;

/** @param {any} about the app @param {URLSearchParams} query values that are filled in already */
export function which(about, query) {
    if (about.partitions) return byPartition(about, query);
    if (about.chunks) return byChunk(query);
    return byTemplate(about, query);
}

function byTemplate({ job_id, identifiers, autofill_values: known }, query) {
    const names = Object.keys(identifiers);
    return [
        radios(
            "way",
            "Jobs to submit",
            [
                ["one", "one job"],
                ["keys", "several jobs, by their keys"],
                ["all", "all jobs that the definition lists"],
            ],
            "one",
        ),
        h(
            "div.fields",
            { "data-way": "one" },
            names.map((name) =>
                field({
                    label: name,
                    help: helpOf(identifiers[name], known[name]),
                    input: input(name, identifiers[name], query.get(`id:${name}`)),
                }),
            ),
            names.map((name) => (known[name]?.length ? options(name, known[name]) : null)),
        ),
        h(
            "div",
            { "data-way": "keys", hidden: true },
            field({
                label: "Keys",
                help: `One per line, in the form ${job_id}`,
                input: h("textarea", { name: "keys", rows: KEYS_SHOWN, spellcheck: "false" }),
            }),
        ),
    ];
}

function input(name, kind, value) {
    const type = kind === "date" ? "date" : "text";
    return line(`id:${name}`, {
        type,
        inputmode: kind === "int" ? "numeric" : null,
        list: `values-${name}`,
        value: value ?? "",
    });
}

function options(name, values) {
    return h(
        "datalist",
        { id: `values-${name}` },
        values.filter((each) => each !== "…").map((each) => h("option", { value: each })),
    );
}

function helpOf(kind, values) {
    const listed = values?.length ? `, for example ${values.slice(0, KEYS_SHOWN).join(", ")}` : "";
    return { date: "a day", int: `a whole number${listed}`, str: `text${listed}` }[kind] ?? `${kind}${listed}`;
}

function byChunk(query) {
    return [
        field({
            label: "Work IDs",
            help: "For example 1-3,7. Default: the IDs that the definition selects",
            input: line("work_ids", { value: query.get("work_ids") ?? "" }),
        }),
    ];
}

function byPartition({ partitions }, query) {
    const { unit, example, by } = partitions.partition;
    return [
        h(
            "div.fields",
            {},
            ["start", "end"].map((name) =>
                field({
                    label: name,
                    help: `the ${name === "start" ? "first" : "last"} ${unit}, for example ${example}`,
                    input: line(name, { value: query.get(name) ?? "" }),
                }),
            ),
            ...Object.entries(by).map(([name, values]) =>
                field({
                    label: `only these values of ${name}`,
                    help: `with commas between them, for example ${values[0]}. Default: all`,
                    input: line("by", { value: query.getAll("by").join(", ") }),
                }),
            ),
            field({
                label: "mode",
                help: partitions.modes.length ? partitions.modes.join(", ") : "the definition has none",
                input: line("mode"),
            }),
            field({ label: "branch", help: "branch of the definitions. Default: none", input: line("branch") }),
        ),
    ];
}

/** Show the fields of the chosen way. */
export function showWay(form) {
    const way = new FormData(form).get("way");
    for (const each of form.querySelectorAll("[data-way]")) each.hidden = each.dataset.way !== way;
}
