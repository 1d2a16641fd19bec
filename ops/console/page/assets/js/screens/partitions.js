// Grid of tables by time: existing, running and missing partitions, and the jobs that make them.

import { get } from "../api.js";
import { land, restate } from "../deeds.js";
import { h } from "../element.js";
import { GridView } from "../grid/view.js";
import { kept } from "../morph.js";
import { appLink, button, card, empty, facts, jobLink, table } from "../parts.js";
import { asked, go } from "../router.js";
import { mayAct } from "../session.js";
import { headline } from "../stage.js";
import { badge, sign } from "../states.js";
import { number, plain } from "../words.js";
import { ago } from "../when.js";

let view = null;

export function screen({ query }) {
    const words = { from: query.get("from"), to: query.get("to"), branch: query.get("branch") };
    return {
        title: "Partitions",
        kind: "partitions",
        load: async (signal) => {
            const [found, { tables }, cell] = await Promise.all([
                get("/api/partitions/grid", { signal, query: words }),
                get("/api/partitions", { signal }),
                query.get("table") &&
                    get("/api/partitions/cell", {
                        signal,
                        query: { table: query.get("table"), partition: query.get("partition"), branch: words.branch },
                    }),
            ]);
            return { found, tables, cell };
        },
        hears: { overview: () => "again" },
        draw: (data) => draw(data, words),
    };
}

function draw({ found, tables, cell }, words) {
    if (!tables.length && !found.rows.length)
        return [
            headline("Partitions"),
            card(
                { bare: true },
                empty(
                    "No app makes partitions.",
                    "An app with one date in its keys is shown here by day, when it has jobs.",
                    "An app with the option partition (hour, day, week or month) in its definition fills a table.",
                ),
            ),
        ];
    return [
        headline("Partitions", {
            acts: [
                mayAct() && tables.length > 0 && button("Restate…", () => restate({ table: null, partitions: [] })),
                mayAct() &&
                    tables.length > 0 &&
                    button("Land…", () => land({ table: null, partitions: [], tables: landing(tables) })),
            ],
        }),
        window(words, found),
        h("div.apps", { class: cell ? "has-about" : "" }, side(found, words, cell), cell && about(cell, tables)),
        tables.length > 0 && list(tables),
    ];
}

/** Tables without an app come first, because mostly their partitions are landed by hand. */
function landing(tables) {
    return [...tables].sort((a, b) => Number(a.app !== null) - Number(b.app !== null)).map((each) => each.table);
}

function side(found, words, cell) {
    if (!found.rows.length || !found.columns.length)
        return card(
            { key: "grid", bare: true },
            empty(
                "No partition was made or requested in this period.",
                h("a", { href: "/submit" }, "Submit a range"),
                "or choose another period.",
            ),
        );
    if (!view?.element.isConnected)
        view = new GridView({
            chosen: (cell) => {
                if (cell?.row.day) go(asked("/jobs", { app: cell.row.app, where: ofDay(cell, view.grid) }));
                else if (cell)
                    go(asked("/partitions", { ...words, table: cell.row.table, partition: cell.column }), {
                        replace: true,
                    });
            },
        });
    view.show(found, cell);
    const { unit, size } = found;
    return card(
        { key: "grid", bare: true, foot: size === 1 ? `A column is one ${unit}.` : `A column is ${size} ${unit}s.` },
        h("div.legend.inside", {}, legend(found)),
        kept(view.element),
    );
}

/** Condition for the jobs of a cell in a row of days. Null if its column is longer or shorter than a day. */
function ofDay({ row, column }, { unit, size }) {
    return unit === "day" && size === 1 ? `inputs.${row.day} = ${column.replaceAll("-", "")}` : null;
}

function legend({ legend: signs, jobs }) {
    return Object.entries(signs).map(([character, words]) => {
        const kinds = { "-": "", "=": "is-part is-succeeded", "#": "is-succeeded", "~": "is-stale" };
        const key = character in kinds ? `swatch ${kinds[character]}`.trim() : undefined;
        const count = jobs[words];
        return h(
            "span.grid-key",
            {},
            key ? h("span", { class: key }) : sign(words),
            plain(words),
            count ? h("span.faint", {}, number(count)) : null,
        );
    });
}

/** Fields for the period and the branch. */
function window({ from, to, branch }, { columns }) {
    const change = (word) => (event) =>
        go(asked("/partitions", { from, to, branch, [word]: event.target.value.trim() }));
    const input = (name, label, value, help) =>
        h("input", {
            type: "text",
            "aria-label": label,
            placeholder: help,
            "data-follows": "",
            value: value ?? "",
            autocomplete: "off",
            on: { change: change(name) },
        });
    return h(
        "div.filters",
        { role: "search", "aria-label": "Period" },
        input("from", "From", from, columns[0] ? `from ${columns[0]}` : "from 2024-04-01"),
        input("to", "To", to, columns.length ? `to ${columns.at(-1)}` : "to 2024-06-30"),
        input("branch", "Branch", branch, "branch"),
        (from || to || branch) && h("a.button.bare", { href: "/partitions" }, "Newest period"),
    );
}

function about(cell, tables) {
    const known = tables.find((each) => each.table === cell.table);
    const who = known?.app ?? cell.app;
    return h(
        "aside.portrait",
        { "aria-label": "This partition", "data-key": "cell" },
        card(
            { title: `${cell.table}, ${cell.partition}` },
            facts([
                [
                    "state",
                    cell.there
                        ? [
                              badge("succeeded", { more: cell.key ? "" : "(landed)" }),
                              cell.stale && [" ", h("span.chip.late", { "data-key": "stale" }, "stale")],
                          ]
                        : cell.state
                          ? badge(cell.state)
                          : "never requested",
                ],
                ["since", cell.since && [ago(cell.since, { alone: true }), " ago"]],
                [
                    "made by",
                    cell.key
                        ? jobLink(cell.app, cell.key)
                        : known?.app
                          ? appLink(known.app)
                          : "no app: the table is external",
                    "wide",
                ],
            ]),
            h(
                "div.acts",
                {},
                mayAct() &&
                    who &&
                    !cell.there &&
                    h(
                        "a.button",
                        { href: submitting(who, cell) },
                        "Submit…",
                    ),
                mayAct() &&
                    !known?.app &&
                    !cell.there &&
                    button(
                        "Land…",
                        () => land({ table: cell.table, partitions: [cell.partition], tables: [] }),
                        { kind: ".first" },
                    ),
                mayAct() &&
                    !known?.app &&
                    cell.there &&
                    button("Land again…", () =>
                        land({ table: cell.table, partitions: [cell.partition], tables: [], again: true }),
                    ),
                mayAct() &&
                    cell.stale &&
                    button("Restate…", () => restate({ table: cell.table, partitions: [cell.partition] }), {
                        kind: ".first",
                    }),
            ),
        ),
    );
}

/** Address of the form for this partition, of its slice only. */
function submitting(app, { partition, by }) {
    return asked("/submit", { app, start: partition, end: partition, by: Object.values(by) });
}

function list(tables) {
    return card(
        { title: "Tables", key: "tables", bare: true },
        table({
            label: "Tables",
            head: [
                "table",
                "filled by",
                ["unit", "secondary"],
                ["first", "nowrap"],
                ["last", "nowrap"],
                ["landed", "num"],
            ],
            rows: tables.map((each) => ({
                key: each.table,
                cells: [
                    h("span.strong", {}, each.table),
                    each.app ? appLink(each.app) : h("span.faint", {}, "no app"),
                    each.unit,
                    each.first ?? "–",
                    each.last ?? "–",
                    `${each.about ? "~ " : ""}${number(each.landed)}`,
                ],
            })),
            empty: null,
        }),
    );
}
