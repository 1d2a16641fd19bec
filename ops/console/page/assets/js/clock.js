// The server's time: ages are told by it, whatever this machine's clock says.

let ahead_ms = 0;

/** An answer says what time it is there, to the second. */
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

/** Seconds since then; less than 0 for what is to come. */
export function since(at) {
    return (now() - Date.parse(at)) / 1000;
}
