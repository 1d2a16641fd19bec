// Numbers, times and durations in readable form. All times are UTC.

const NUMBER = new Intl.NumberFormat("en-GB");

/** `1,000,000`; a dash for none. */
export function number(value) {
    return value === null || value === undefined ? "–" : NUMBER.format(value);
}

/** `1 job`, `1,200 jobs`. */
export function counted(value, one, many = `${one}s`) {
    return `${number(value)} ${value === 1 ? one : many}`;
}

/** `12 s`, `3 m`, `5 h`, `2 d`: how old something is, at a glance. */
export function age(seconds) {
    const s = Math.max(0, seconds);
    if (s < 60) return `${Math.floor(s)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} m`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
    return `${NUMBER.format(Math.floor(s / 86400))} d`;
}

/** `25 ms`, `1.2 s`, `3 m 20 s`, `2 h 5 m`: how long something took. */
export function span(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0).replace(".0", "")} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${Math.floor(seconds % 60)} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} m`;
}

/** `2026-11-20 02:00:00 UTC`. */
export function moment(at) {
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? String(at) : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** `02:00:00`. */
export function hour(at) {
    return new Date(at).toISOString().slice(11, 19);
}

/** `12 %`. 0 and 100 only if exact. */
export function percent(part, whole) {
    if (!whole) return "–";
    const share = (100 * part) / whole;
    if (part > 0 && share < 1) return "< 1 %";
    return `${part < whole ? Math.min(99, Math.round(share)) : 100} %`;
}

/** Capitalize the first letter. */
export function sentence(text) {
    return text ? text[0].toUpperCase() + text.slice(1) : "";
}

/** A state's name as a word: `upstream failed`. */
export function plain(state) {
    return state.replaceAll("_", " ");
}
