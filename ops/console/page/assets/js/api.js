// The console's calls. What goes wrong is a Problem, with the server's own words and its advice.

import { heard } from "./clock.js";

export class Problem extends Error {
    /** @param {{status: number, title?: string, detail?: string, advice?: string}} told */
    constructor({ status, title = "", detail = "", advice = "" }) {
        super(detail || title || `The server answered ${status}.`);
        this.status = status;
        this.title = title;
        this.advice = advice;
    }
}

/** What is said where nobody answers. */
export const SILENCE = {
    status: 0,
    detail: "The console's server does not answer.",
    advice: "See whether `sluice up` or `sluice console` still runs.",
};

/** Called where the server wants to know who asks. */
let onStranger = () => {};
export function whenStranger(call) {
    onStranger = call;
}

/**
 * @param {string} path
 * @param {{signal?: AbortSignal, query?: Record<string, any>}} [options]
 */
export async function get(path, { signal, query } = {}) {
    return read(await sent(address(path, query), { signal }));
}

/** Text as it is, such as a round's output. */
export async function text(path, { signal } = {}) {
    const answer = await sent(path, { signal });
    return answer.ok ? answer.text() : read(answer);
}

/** A call that changes something. */
export async function post(path, body = {}) {
    return change("POST", path, body);
}

export async function change(method, path, body = {}) {
    const headers = { "Content-Type": "application/json" };
    return read(await sent(path, { method, headers, body: JSON.stringify(body) }));
}

/** A path of the API, each word written so that it stays one. */
export function path(...words) {
    return `/api/${words.map(encodeURIComponent).join("/")}`;
}

function address(path, query = {}) {
    const found = new URLSearchParams();
    for (const [word, value] of Object.entries(query))
        for (const each of [value].flat())
            if (each !== null && each !== undefined && each !== "") found.append(word, each);
    const words = found.toString();
    return words ? `${path}?${words}` : path;
}

async function sent(path, options) {
    try {
        const answer = await fetch(path, { credentials: "same-origin", ...options });
        heard(answer.headers.get("Date"));
        return answer;
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem(SILENCE);
    }
}

async function read(answer) {
    const is_json = /json/.test(answer.headers.get("Content-Type") ?? "");
    const found = is_json ? await answer.json() : { detail: await answer.text() };
    if (answer.ok) return found;
    if (answer.status === 401) onStranger();
    throw new Problem({ ...found, status: answer.status });
}
