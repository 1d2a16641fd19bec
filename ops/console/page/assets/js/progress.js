// Progress bars.

import { partsBar } from "./charts.js";
import { h } from "./element.js";
import { number, percent } from "./words.js";

/** @param {{total: number, ended: number, failed: number, about?: boolean} | null} found */
export function progress(found) {
    if (!found?.total) return h("span.faint", {}, "–");
    const { total, ended, failed, about } = found;
    const parts = [
        ["succeeded", Math.max(0, ended - failed)],
        ["failed", failed],
    ];
    const said = `${about ? "about " : ""}${number(ended)} of ${number(total)} ended, ${number(failed)} of them failed`;
    return h(
        "span.progress",
        { title: said },
        share(parts, total, said),
        h("span", {}, `${about ? "~ " : ""}${percent(ended, total)}`),
        h("span.faint.secondary", {}, `${number(ended)} of ${number(total)}`),
    );
}

/** Jobs that have not ended are left empty. */
function share(parts, total, said) {
    const bar = partsBar(parts, said);
    [...bar.children].forEach((each, at) => {
        const [, count] = parts.filter(([, one]) => one > 0)[at];
        each.style.setProperty("--part", `${(100 * count) / total}%`);
    });
    return bar;
}
