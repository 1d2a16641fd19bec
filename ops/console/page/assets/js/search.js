// One box for everything: an app, a key, a job by app/key, a state, a submission.

import { get } from "./api.js";
import { h } from "./element.js";
import { icon } from "./icons.js";
import { asked, go, to } from "./router.js";
import { STATES, sign } from "./states.js";
import { plain } from "./words.js";

const WAIT_MS = 160;
const APPS_MAX = 6;
const JOBS_MAX = 6;

/** @typedef {{words: any, kind: string, href: string}} Find */

let input;
let list;
/** @type {Find[]} */
let finds = [];
let chosen = -1;
let waiting = 0;
let asking = new AbortController();
let apps = null;

export function search() {
    list = h("div.finds", { id: "finds", role: "listbox", "aria-label": "Search results", hidden: true });
    input = h("input", {
        type: "search",
        placeholder: "App, key, app/key, state, submission",
        "aria-label": "Search",
        role: "combobox",
        "aria-expanded": "false",
        "aria-controls": "finds",
        "aria-autocomplete": "list",
        autocomplete: "off",
        spellcheck: "false",
        on: { input: soon, keydown: press, focus: soon, blur: close },
    });
    return h("div.search", { role: "search" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"), list);
}

function soon() {
    clearTimeout(waiting);
    const text = input.value.trim();
    if (!text) return close();
    offer(known(text));
    waiting = setTimeout(() => ask(text), WAIT_MS);
}

/** Results that need no request. */
function known(text) {
    const low = text.toLowerCase();
    const states = STATES.filter((each) => plain(each).startsWith(low) || each.startsWith(low));
    return [
        ...states.map((state) => ({
            words: [sign(state), plain(state)],
            kind: "jobs in this state",
            href: asked("/jobs", { state }),
        })),
        ...(apps ?? [])
            .filter((each) => each.toLowerCase().includes(low))
            .sort((a, b) => a.toLowerCase().indexOf(low) - b.toLowerCase().indexOf(low) || a.localeCompare(b))
            .slice(0, APPS_MAX)
            .map((app) => ({ words: app, kind: "app", href: asked("/apps", { app }) })),
        ...split(text),
        {
            words: h("span.mono", {}, `${text}…`),
            kind: "jobs with keys that begin with this",
            href: asked("/jobs", { key: text }),
        },
        { ...submission(text), kind: "submission with this id" },
    ];
}

/** `app/key` is one job, or the jobs of that app whose keys begin with `key`. */
function split(text) {
    const at = text.indexOf("/");
    if (at < 1) return [];
    const [app, key] = [text.slice(0, at), text.slice(at + 1)];
    if (!key) return [{ words: app, kind: "jobs of this app", href: asked("/jobs", { app }) }];
    return [
        { words: h("span.mono", {}, text), kind: "job", href: to("jobs", app, key) },
        {
            words: h("span.mono", {}, `${text}…`),
            kind: "jobs with keys that begin with this",
            href: asked("/jobs", { app, key }),
        },
    ];
}

async function ask(text) {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const [app, key] = text.includes("/")
        ? [text.slice(0, text.indexOf("/")), text.slice(text.indexOf("/") + 1)]
        : ["", text];
    const [names, jobs, is_submission] = await Promise.all([
        apps ?? quiet(get("/api/graph", { signal }), (found) => found.apps.map((each) => each.name)),
        quiet(get("/api/jobs", { signal, query: { app, key, limit: JOBS_MAX } }), (found) => found.jobs),
        quiet(get("/api/jobs", { signal, query: { submission: text, limit: 1 } }), (found) => found.jobs.length > 0),
    ]);
    if (signal.aborted || input.value.trim() !== text || document.activeElement !== input) return;
    apps = names;
    offer([...(is_submission ? [submission(text)] : []), ...known(text), ...(jobs ?? []).map(found)]);
}

function found({ app, key, state }) {
    return {
        words: [sign(state), h("span.mono", {}, `${app}/${key}`)],
        kind: `job, ${plain(state)}`,
        href: to("jobs", app, key),
    };
}

function submission(id) {
    return { words: h("span.mono", {}, id), kind: "submission", href: to("submissions", id) };
}

/** Ignore errors: an unknown name is not an error in a search. */
async function quiet(promise, take) {
    try {
        return take(await promise);
    } catch {
        return null;
    }
}

function offer(what) {
    const seen = new Set();
    finds = what.filter(({ href }) => !seen.has(href) && seen.add(href));
    const options = finds.map(({ words, kind }, at) =>
        h(
            "div",
            {
                role: "option",
                id: `find-${at}`,
                "aria-selected": "false",
                on: { mousedown: (event) => pick(event, at) },
            },
            words,
            h("span.kind", {}, kind),
        ),
    );
    list.replaceChildren(...options);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    choose(0);
}

function choose(at) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = Math.min(Math.max(at, 0), finds.length - 1);
    const option = list.children[chosen];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
}

function press(event) {
    if (event.key === "Escape") {
        input.value = "";
        input.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && finds[chosen]) pick(event, chosen);
}

function pick(event, at) {
    event.preventDefault();
    const { href } = finds[at];
    input.value = "";
    input.blur();
    close();
    go(href);
}

function close() {
    clearTimeout(waiting);
    asking.abort();
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
}
