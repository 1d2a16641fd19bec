// The last overview that was heard, for screens that show counts beside something else.

import { get } from "./api.js";

let last = null;

export function remember(overview) {
    last = overview;
}

/** What was just done is not in it, and is to be seen at once: whoever asks next has it fetched. */
export function forget() {
    last = null;
}

/** It is fetched where none has been heard yet. */
export async function overview(signal) {
    last ??= await get("/api/overview", { signal });
    return last;
}
