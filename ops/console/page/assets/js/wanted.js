// The jobs that a submission requests, as in its request.

import { h } from "./element.js";
import { counted } from "./words.js";

/** @param {{key?: string, keys?: number, start?: string, end?: string, mode?: string}} submission */
export function wanted({ key, keys, start, end, mode }) {
    const more = mode ? ` in mode ${mode}` : "";
    if (key) return [h("span.faint", {}, "/"), h("span.mono", {}, key), more];
    if (start) return h("span.faint", {}, ` ${start === end ? start : `${start} to ${end}`}${more}`);
    return keys ? h("span.faint", {}, ` ${counted(keys, "job")}${more}`) : more;
}
