// Results of actions, shown in a corner. Successes disappear by themselves; errors stay.

import { h } from "./element.js";
import { icon } from "./icons.js";

const SHOWN_MS = 6000;

/** Two regions, so that screen readers read errors at once. */
const news = h("div", { role: "status", "aria-label": "Results" });
const errors = h("div", { role: "alert", "aria-label": "Errors" });
const region = h("div.toasts", { popover: "manual" }, errors, news);

export function start() {
    document.body.append(region);
}

/** @param {string} text */
export function told(text) {
    const toast = show(news, "good", "page", text, "");
    setTimeout(() => toast.remove(), SHOWN_MS);
}

/** @param {Error & {advice?: string}} error */
export function failed(error) {
    show(errors, "bad", "warn", error.message, error.advice ?? "");
}

function show(where, kind, picture, text, advice) {
    const close = h("button.button.bare", { type: "button", "aria-label": "Dismiss" }, icon("close"));
    const words = h("div", {}, h("p", {}, text), advice && h("p", {}, advice));
    const toast = h(`div.notice.toast.${kind}`, {}, icon(picture), words, close);
    close.addEventListener("click", () => toast.remove());
    where.append(toast);
    // Show it above an open dialog.
    if (region.matches(":popover-open")) region.hidePopover();
    region.showPopover();
    return toast;
}
