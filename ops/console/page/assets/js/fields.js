// Fields of forms, each with a label and a help text.

import { h } from "./element.js";

let last = 0;

/** @param {{label: string, help?: string, input: any}} parts */
export function field({ label, help, input }) {
    const id = `field-${++last}`;
    input.id = id;
    if (help) input.setAttribute("aria-describedby", `${id}-help`);
    return h("div.field", {}, h("label", { for: id }, label), input, help && h("small", { id: `${id}-help` }, help));
}

export function line(name, attributes = {}) {
    return h("input", { name, type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
}

/** @param {[string, string][]} options value and label */
export function choice(name, options, chosen = "") {
    return h(
        "select",
        { name },
        options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
    );
}

/** Choice of one of a few options, all visible. */
export function radios(name, legend, options, chosen) {
    return h(
        "fieldset",
        {},
        h("legend", {}, legend),
        h(
            "div.choices",
            {},
            options.map(([value, words]) =>
                h("label", {}, h("input", { type: "radio", name, value, checked: value === chosen }), words),
            ),
        ),
    );
}

/** Parse JSON from a field. The error has the reason. */
export function readJson(text, what) {
    if (!text?.trim()) return undefined;
    try {
        return JSON.parse(text);
    } catch (error) {
        throw Object.assign(new Error(`${what} is not JSON: ${error.message}`), {
            advice: 'For example {"ok": true}',
        });
    }
}
