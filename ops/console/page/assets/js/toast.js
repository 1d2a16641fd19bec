// What came of something that was asked for, told in a corner. Good news goes by itself; what went wrong stays.

import { h } from "./element.js";
import { icon } from "./icons.js";

const SHOWN_MS = 6000;

/** Two regions, so that what went wrong is read aloud at once. */
const news = h("div", { role: "status", "aria-label": "What was done" });
const alarms = h("div", { role: "alert", "aria-label": "What went wrong" });
const region = h("div.toasts", { popover: "manual" }, alarms, news);

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
    show(alarms, "bad", "warn", error.message, error.advice ?? "");
}

function show(where, kind, picture, text, advice) {
    const close = h("button.button.bare", { type: "button", "aria-label": "Dismiss" }, icon("close"));
    const words = h("div", {}, h("p", {}, text), advice && h("p", {}, advice));
    const toast = h(`div.notice.toast.${kind}`, {}, icon(picture), words, close);
    close.addEventListener("click", () => toast.remove());
    where.append(toast);
    // Put above any dialog that is open, which lies above all else.
    if (region.matches(":popover-open")) region.hidePopover();
    region.showPopover();
    return toast;
}
