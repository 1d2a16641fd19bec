// Keyboard shortcuts, active everywhere except in input fields.

import { h } from "./element.js";
import { isOpen, tell } from "./dialog.js";
import { go } from "./router.js";
import { cycle } from "./theme.js";

const AFTER_G_MS = 1200;
/** Keys that follow a `g`. */
export const PLACES = {
    o: ["/", "Overview"],
    a: ["/apps", "Apps"],
    j: ["/jobs", "Jobs"],
    s: ["/submissions", "Submissions"],
    p: ["/partitions", "Partitions"],
    d: ["/schedules", "Schedules"],
    f: ["/sagas", "Sagas"],
    n: ["/notifications", "Notifications"],
    w: ["/workers", "Workers"],
    u: ["/audit", "Audit"],
};

let g_until = 0;

export function start() {
    document.addEventListener("keydown", press);
}

export function help() {
    const rows = [
        ["/", "Search"],
        ["n", "Submit"],
        ["t", "Light, dark, or the theme of the system"],
        ["?", "Keyboard shortcuts"],
        ["j k", "Next and previous row of a list"],
        ...Object.entries(PLACES).map(([key, [, name]]) => [`g ${key}`, `Go to ${name}`]),
        ["← ↑ → ↓", "Follow the lines of a graph; move between the cells of the grid"],
        ["+ − 0", "Zoom into a graph, out of it, or fit it to the window"],
    ];
    const keys = (text) => text.split(" ").map((each) => [h("kbd", {}, each), " "]);
    tell(
        "Keyboard shortcuts",
        h(
            "dl.keys",
            {},
            rows.map(([key, words]) => [h("dt", {}, keys(key)), h("dd", {}, words)]),
        ),
    );
}

function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isOpen() || isTyped(event.target)) return;
    const call = event.timeStamp < g_until ? afterG(event.key) : ALONE[event.key];
    g_until = event.key === "g" ? event.timeStamp + AFTER_G_MS : 0;
    if (!call || event.defaultPrevented) return;
    event.preventDefault();
    call();
}

const ALONE = {
    "/": () => document.querySelector(".search input")?.focus(),
    "?": help,
    n: () => go("/submit"),
    t: cycle,
    j: () => step(1),
    k: () => step(-1),
};

function afterG(key) {
    return PLACES[key] && (() => go(PLACES[key][0]));
}

/** From row to row, by the first link in each. */
function step(by) {
    const links = [...document.querySelectorAll(".main tbody tr")]
        .map((row) => row.querySelector("a[href]"))
        .filter(Boolean);
    const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function isTyped(element) {
    return element.matches?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");
}
