// The last overview that was heard, for screens that show counts beside something else.

import { get } from "./api.js";

let last = null;

export function remember(overview) {
    last = overview;
}

/** It is fetched where none has been heard yet. */
export async function overview(signal) {
    last ??= await get("/api/overview", { signal });
    return last;
}

export function known() {
    return last;
}
