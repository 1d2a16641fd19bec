// The frame around every screen: navigation, search, and whether the shown data are live.

import { h } from "./element.js";
import { icon, mark } from "./icons.js";
import { ASK_EVERY_MS } from "./live.js";
import { search } from "./search.js";
import { isOfTenant, maySubmit, signOut } from "./session.js";
import { help } from "./shortcuts.js";
import { stage } from "./stage.js";
import { THEMES, choose, theme } from "./theme.js";
import { failed } from "./toast.js";
import { counted, hour } from "./words.js";

const NAV = [
    ["", "Overview", "overview"],
    ["apps", "Apps", "apps"],
    ["jobs", "Jobs", "jobs"],
    ["submissions", "Submissions", "submissions"],
    ["partitions", "Partitions", "partitions"],
    ["schedules", "Schedules", "schedules"],
    ["sagas", "Sagas", "sagas"],
    ["notifications", "Notifications", "notifications"],
    ["workers", "Workers", "workers"],
    ["audit", "Audit", "audit"],
];
/** Screens about the whole installation, which a token of a tenant may not see. */
const WHOLE = new Set(["workers", "audit"]);

const SILENT = "The server does not answer; the shown data may be old";
/** Text of the lamp and its meaning. A text that ends with a space is followed by the time. */
const LAMP = {
    live: ["live", "The shown data are current"],
    asking: [
        `polled every ${ASK_EVERY_MS / 1000} s`,
        "The server has no event stream free for this page, so the page polls the overview",
    ],
    unseen: ["no ledger since ", "The server cannot read the ledger; the shown data may be old"],
    reconnecting: ["reconnecting", SILENT],
    stale: ["stale since ", SILENT],
};
const light = h(
    "span.lamp.is-reconnecting",
    { role: "status" },
    h("span.lamp-light"),
    h("span.lamp-word", {}, "connecting"),
);
const count = h("span.nav-count", { hidden: true });
const links = new Map();
let shell;
let menu;

/** @param {() => void} leave called after the user has signed out */
export function frame(leave) {
    menu = h(
        "button.button.bare.menu",
        {
            type: "button",
            "aria-label": "Menu",
            "aria-expanded": "false",
            "aria-controls": "side",
            on: { click: toggle },
        },
        icon("menu"),
    );
    const top = h("header.top", {}, menu, search(), submitLink(), light);
    shell = h(
        "div.shell",
        { on: { click: outside, keydown: escape } },
        h("a.skip", { href: "#main" }, "Skip to the content"),
        side(leave),
        top,
        stage(),
    );
    return shell;
}

/** Mark the current screen in the navigation, and close the menu. */
export function mayHaveMoved({ words }) {
    for (const [word, link] of links)
        if (word === (words[0] ?? "")) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    toggle(null, false);
}

/** @param {import("./live.js").Standing} standing */
export function lamp({ word, since }) {
    const [says, means] = LAMP[word];
    const text = says.endsWith(" ") ? says + hour(since) : says;
    const said = light.querySelector(".lamp-word");
    if (said.textContent === text) return;
    said.textContent = text;
    light.setAttribute("class", `lamp is-${word}`);
    light.title = means;
}

export function showAlertCount(alerts) {
    count.hidden = !alerts.length;
    count.textContent = String(alerts.length);
    count.title = counted(alerts.length, "alert");
}

function submitLink() {
    return maySubmit()
        ? h("a.button.submit-link", { href: "/submit", "aria-label": "Submit" }, icon("plus"), h("span", {}, "Submit"))
        : h("span.chip", { title: "This token is read-only" }, "view only");
}

function side(leave) {
    const screens = isOfTenant() ? NAV.filter(([word]) => !WHOLE.has(word)) : NAV;
    const items = screens.map(([word, name, picture]) => {
        const link = h("a", { href: `/${word}` }, icon(picture), name, word === "" && count);
        links.set(word, link);
        return h("li", {}, link);
    });
    return h(
        "div.side",
        { id: "side" },
        h("a.brand", { href: "/" }, mark(), "Sluice"),
        h("nav.nav", { "aria-label": "Screens" }, h("ul", {}, items)),
        h("div.side-foot", {}, themes(), footLinks(leave)),
    );
}

function themes() {
    const buttons = THEMES.map(({ name, icon: picture, words }) =>
        h(
            "button",
            {
                type: "button",
                title: words,
                "aria-label": words,
                "data-theme-name": name,
                on: { click: () => choose(name) },
            },
            icon(picture),
        ),
    );
    const dress = () =>
        buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.themeName === theme())));
    window.addEventListener("repaint", dress);
    dress();
    return h("div.themes", { role: "group", "aria-label": "Theme" }, buttons);
}

function footLinks(leave) {
    const out = async () => {
        try {
            await signOut();
            leave();
        } catch (error) {
            failed(error);
        }
    };
    return h(
        "div.side-links",
        {},
        h("button", { type: "button", on: { click: help } }, "Shortcuts"),
        h("a", { href: "/api/openapi.json", target: "_blank" }, "API"),
        h("a", { href: "/metrics", target: "_blank" }, "Metrics"),
        h("button", { type: "button", on: { click: out } }, "Sign out"),
    );
}

function toggle(_event, is_open = !shell.classList.contains("has-menu")) {
    shell.classList.toggle("has-menu", is_open);
    menu.setAttribute("aria-expanded", String(is_open));
    if (is_open) links.get("").focus();
}

function outside(event) {
    if (event.target === shell) toggle(null, false);
}

function escape(event) {
    if (event.key === "Escape" && shell.classList.contains("has-menu")) {
        toggle(null, false);
        menu.focus();
    }
}
