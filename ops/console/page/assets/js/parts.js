// Parts of screens: cards, tables, texts for empty lists, pages of lists.

import { h } from "./element.js";
import { icon } from "./icons.js";
import { asked, to } from "./router.js";

/** @param {{title?: string, beside?: any, foot?: any, key?: string, bare?: boolean}} words @param {...any} inside */
export function card({ title, beside, foot, key, bare = false }, ...inside) {
    return h(
        "section.card",
        { "data-key": key, "aria-label": title },
        title && h("header", {}, h("h2", {}, title), beside),
        bare ? inside : h("div.inside", {}, inside),
        foot && h("footer", {}, foot),
    );
}

/**
 * @param {{head: (string | [string, string])[], rows: {key: string, cells: any[]}[], label: string, empty: any,
 *   folds?: boolean}} words
 *   a heading may have a class, which its cells have too: `num`, `secondary`; a table that folds is a list of cards on
 *   a narrow screen
 */
export function table({ head, rows, label, empty, folds = false }) {
    if (!rows.length) return empty;
    const columns = head.map((each) => (Array.isArray(each) ? each : [each, ""]));
    return h(
        "div.scrolls",
        {},
        h(
            "table.table",
            { "aria-label": label, class: folds ? "folds" : "" },
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    columns.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)),
                ),
            ),
            h(
                "tbody",
                {},
                rows.map(({ key, cells }) =>
                    h(
                        "tr",
                        { "data-key": key },
                        cells.map((cell, at) =>
                            h(
                                "td",
                                { class: columns[at][1], "data-head": folds ? columns[at][0] : null },
                                folds ? h("div", {}, cell) : cell,
                            ),
                        ),
                    ),
                ),
            ),
        ),
    );
}

/** Text for an empty list: what is empty, and what to do next. */
export function empty(what, ...next) {
    return h(
        "div.empty",
        {},
        h("strong", {}, what),
        next.map((each) => h("div", {}, each)),
    );
}

/** Names and values. */
export function facts(pairs) {
    return h(
        "dl.facts",
        {},
        pairs
            .filter(([, value]) => value !== null && value !== undefined && value !== "")
            .map(([name, value, kind = ""]) => h("div", { class: kind }, h("dt", {}, name), h("dd", {}, value))),
    );
}

export function jobLink(app, key) {
    return h(
        "a",
        { href: to("jobs", app, key) },
        h("span.strong", {}, app),
        h("span.faint", {}, "/"),
        h("span.mono", {}, key),
    );
}

export function appLink(app) {
    return h("a", { href: asked("/apps", { app }) }, app);
}

export function submissionLink(id) {
    return h("a.mono.long", { href: to("submissions", id) }, id);
}

/** `next` leads to older entries; the browser's back button leads back. */
export function pager(address, query, next) {
    const words = Object.fromEntries([...query.keys()].map((word) => [word, query.getAll(word)]));
    const is_first = !query.get("after");
    if (is_first && !next) return null;
    return h(
        "nav.pager",
        { "aria-label": "Pages" },
        !is_first && h("a.button", { href: asked(address, { ...words, after: [] }) }, "Newest"),
        next && h("a.button", { href: asked(address, { ...words, after: next }), rel: "next" }, "Older"),
    );
}

/** @param {"" | "bad" | "warn"} kind */
export function notice(kind, what, advice, beside) {
    const words = h("div", {}, h("p", {}, what), advice && h("p", {}, advice));
    return h(`div.notice${kind && `.${kind}`}`, {}, icon(kind ? "warn" : "page"), words, beside);
}

export function button(words, click, { kind = "", picture = "", title = null } = {}) {
    return h(`button.button${kind}`, { type: "button", title, on: { click } }, picture && icon(picture), words);
}

/** A command that can be copied. */
export function command(text, effect) {
    const copy = async (event) => {
        await navigator.clipboard?.writeText(text);
        event.target.closest("button").replaceChildren(icon("copy"), "copied");
    };
    return h(
        "div.command",
        {},
        h("code", {}, text),
        effect && h("span.faint", {}, effect),
        h("button.button.bare", { type: "button", "aria-label": `Copy ${text}`, on: { click: copy } }, icon("copy")),
    );
}
