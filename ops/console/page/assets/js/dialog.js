// Dialogs: each action is confirmed with its exact effect and its object.

import { h } from "./element.js";
import { icon } from "./icons.js";

/**
 * @typedef {object} Question
 * @property {string} title "Cancel this job?"
 * @property {string} [name] name of the object of the action
 * @property {(string | Node)[]} says the effect, as sentences
 * @property {string} verb label of the button that confirms
 * @property {boolean} [grave] whether the action cannot be undone
 * @property {any[]} [fields] fields to fill in, each an element with named inputs
 */

/**
 * @param {Question} question
 * @returns {Promise<Record<string, string> | null>} values of the fields; null if the action was not confirmed
 */
export function ask({ title, name, says, verb, grave = false, fields = [] }) {
    const form = h(
        "form.dialog",
        { method: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        name && h("p.name", {}, name),
        says.map((each) => h("p", {}, each)),
        fields,
        h(
            "div.acts",
            {},
            h("button.button", { type: "button", on: { click: () => dialog.close() } }, "Go back"),
            h(`button.button.first${grave ? ".grave" : ""}`, { value: "yes", autofocus: !fields.length }, verb),
        ),
    );
    const dialog = shown(form, "dialog-title");
    return new Promise((resolve) => {
        dialog.addEventListener("close", () => {
            const answer = dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : null;
            dialog.remove();
            resolve(answer);
        });
    });
}

/** Show a text in a dialog with a close button. */
export function tell(title, ...parts) {
    const close = h("button.button.bare", { "aria-label": "Close", autofocus: true }, icon("close"));
    const head = h("header.headline", {}, h("h2", { id: "dialog-title" }, title), h("div.acts", {}, close));
    const dialog = shown(h("form.dialog", { method: "dialog" }, head, parts), "dialog-title");
    dialog.addEventListener("close", () => dialog.remove());
}

export function isOpen() {
    return document.querySelector("dialog[open]") !== null;
}

function shown(inside, label) {
    const dialog = h("dialog", { "aria-labelledby": label }, inside);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}
