// The current screen: its data are fetched, drawn, and updated in place when they change.

import { add, h } from "./element.js";
import { icon } from "./icons.js";
import { watch } from "./live.js";
import { morph } from "./morph.js";
import { counted } from "./words.js";

/**
 * @typedef {object} Screen
 * @property {string} title
 * @property {string} [kind] screens of the same kind are updated in place
 * @property {string[]} [topics] watched topics, besides the overview
 * @property {(signal: AbortSignal) => Promise<any>} load
 * @property {(data: any) => any} draw an element
 * @property {Record<string, (news: any, data: any) => any>} [hears] by kind of change: return the data to draw, or
 *   "again" to fetch them
 * @property {(root: any) => void} [shown] called when it is in the page
 */

/** Least milliseconds between two fetches that changes cause. */
const AGAIN_EVERY_MS = 1500;

const main = h("main.main", { id: "main", tabindex: "-1" });
/** Shown above every screen while workers and console use different definitions. */
const banner = h(
    "div.notice.warn",
    { role: "status", "data-key": "definitions", hidden: true },
    icon("warn"),
    h("p", {}, "The processes use different definitions. This page may show outdated ones."),
    h("a", { href: "/workers" }, "Show the workers"),
);
let present = null;
let fetching = new AbortController();
let again = 0;
let last_ms = 0;

export function stage() {
    return main;
}

/**
 * @param {Screen} screen
 * @param {{moved: boolean, focused: Element}} options `focused` had the focus when the screen was requested
 */
export async function show(screen, { moved, focused }) {
    const is_same = present?.screen.kind !== undefined && present.screen.kind === screen.kind;
    leave();
    present = { screen, data: undefined, root: is_same ? present.root : null };
    document.title = `${screen.title} · Sluice`;
    if (!is_same) put(h("div.screen", { "aria-busy": "true" }, h("h1.headline", {}, screen.title), h("div.waitbox")));
    watch(screen.topics ?? []);
    await refresh();
    if (moved && !is_same) {
        window.scrollTo(0, 0);
        // Keep the focus if the user has moved it meanwhile, for example to the search.
        if ([focused, document.body].includes(document.activeElement)) main.focus({ preventScroll: true });
    }
}

/** Fetch and draw the present screen again. */
export async function refresh() {
    const mine = present;
    clearTimeout(again);
    again = 0;
    fetching.abort();
    fetching = new AbortController();
    last_ms = performance.now();
    try {
        const data = await mine.screen.load(fetching.signal);
        if (mine === present) draw(data);
    } catch (error) {
        if (error.name !== "AbortError" && mine === present) fail(error);
    }
}

/** Redraw the known data, if only the appearance has changed. */
export function redraw() {
    if (present?.data !== undefined) draw(present.data);
}

export function hear(kind, news) {
    const call = present?.data !== undefined && present.screen.hears?.[kind];
    if (!call) return;
    const found = call(news, present.data);
    if (found === "again") soon();
    else if (found !== undefined) draw(found);
}

function soon() {
    if (!again) again = setTimeout(refresh, Math.max(0, last_ms + AGAIN_EVERY_MS - performance.now()));
}

function draw(data) {
    present.data = data;
    const fresh = h("div.screen", {}, present.screen.draw(data));
    if (!present.root) {
        present.root = fresh;
        put(fresh);
    } else morph(present.root, fresh);
    present.screen.shown?.(present.root);
}

function fail(error) {
    const title = error.status === 404 ? "Not found" : "This screen cannot be shown";
    const more = error.advice ? h("p", {}, error.advice) : null;
    const button = h("button.button", { type: "button", on: { click: refresh } }, "Try again");
    const words = h("div", {}, h("p.strong", {}, `${title}: ${error.message}`), more);
    const notice = h("div.notice.bad", { role: "alert", "data-key": "failure" }, icon("warn"), words, button);
    if (!present.root) return put(h("div.screen", {}, h("h1.headline", {}, present.screen.title), notice));
    present.root.querySelector('[data-key="failure"]')?.remove();
    present.root.prepend(notice);
}

/** @param {{name: string}[]} alerts */
export function showDefinitionsBanner(alerts) {
    banner.hidden = !alerts.some((each) => each.name === "definitions-differ");
}

function put(root) {
    main.replaceChildren(banner, root);
}

function leave() {
    clearTimeout(again);
    again = 0;
    fetching.abort();
}

/** A screen's first line: its title and its actions. */
export function headline(title, { says, acts = [], beside = [] } = {}) {
    const head = h("header.headline", {}, h("h1", {}, title), beside);
    const given = acts.filter(Boolean);
    if (given.length) add(head, [h("div.acts", {}, given)]);
    if (says) add(head, [h("p", {}, says)]);
    return head;
}

export function tally(count, one) {
    return h("span.chip", {}, counted(count, one));
}
