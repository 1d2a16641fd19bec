// The console's calls. A failed call throws a Problem with the server's message and advice.

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

/** Problem to show if the server does not answer. */
export const SILENCE = {
    status: 0,
    detail: "The console's server does not answer.",
    advice: "Check that `sluice up` or `sluice console` is still running.",
};

/** Called if the server requires a sign-in. */
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

/** Fetch plain text, for example a round's output. */
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

/** Return a path of the API, with each part encoded. */
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
