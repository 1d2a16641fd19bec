// The server's time. Ages use it, because this machine's clock may be wrong.

let ahead_ms = 0;

/** Read the server's time from the Date header of an answer, to the second. */
export function heard(date) {
    const there = Date.parse(date ?? "");
    if (!Number.isNaN(there)) {
        const found = there - Date.now();
        ahead_ms = Math.abs(found) > 2000 ? found : 0;
    }
}

/** @returns {number} milliseconds */
export function now() {
    return Date.now() + ahead_ms;
}

/** Seconds since then; negative for a future time. */
export function since(at) {
    return (now() - Date.parse(at)) / 1000;
}
