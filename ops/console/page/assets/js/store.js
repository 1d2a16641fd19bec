// The last received overview, for screens that also show counts.

import { get } from "./api.js";

let last = null;

export function remember(overview) {
    last = overview;
}

/** Discard the overview after an action, so that the next read fetches the effect. */
export function forget() {
    last = null;
}

/** Return the overview. It is fetched if none was received yet. */
export async function overview(signal) {
    last ??= await get("/api/overview", { signal });
    return last;
}
