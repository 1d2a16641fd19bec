// Small charts of the last hour: bars for successes, hatched bars for failures, a line for starts.

import { h } from "./element.js";
import { hour, number } from "./words.js";

const HEIGHT = 100;

/** @typedef {{step_s: number, from: string}} Axis */

/**
 * Chart of all apps, with its axes.
 * @param {Axis & {started: number[], succeeded: number[], failed: number[]}} series
 */
export function throughput(series) {
    const { started, succeeded, failed } = series;
    const top = nice(Math.max(1, ...started, ...succeeded.map((each, at) => each + failed[at])));
    const said = `The last hour: ${told(sum(started), sum(succeeded), sum(failed))}.`;
    return h(
        "figure.chart",
        {},
        h(
            "div.chart-scale",
            { "aria-hidden": "true" },
            h("span", {}, number(top)),
            h("span", {}, number(top / 2)),
            h("span", {}, "0"),
        ),
        picture("chart-picture", succeeded.length, said, [
            [0.5, 0].map((part) => h("path.chart-rule", { d: `M0 ${HEIGHT * part}H${succeeded.length}` })),
            columns(series, top),
            h("path.chart-line", { d: line(started, top) }),
        ]),
        h("figcaption.chart-times", {}, times(series, succeeded.length)),
    );
}

/**
 * Small chart of one app: successes above the line, failures below it.
 * @param {Axis} axis @param {{succeeded?: number[], failed?: number[]}} found
 */
export function sparkline(axis, { succeeded = [], failed = [] }) {
    const length = Math.max(succeeded.length, failed.length, 1);
    const top = Math.max(1, ...succeeded, ...failed);
    const base = 66;
    const said = `The last hour: ${number(sum(succeeded))} succeeded, ${number(sum(failed))} failed.`;
    return picture("spark", length, said, [
        h("path.chart-rule", { d: `M0 ${base}H${length}` }),
        h("path.bar-good", { d: succeeded.map((each, at) => rect(at, base, (-each / top) * base)).join("") }),
        h("path.bar-bad", { d: failed.map((each, at) => rect(at, base, (each / top) * (HEIGHT - base))).join("") }),
        h("title", {}, `${said} ${number(top)} at most in ${axis.step_s} s`),
    ]);
}

/** Bar of parts, each in the colour of its state. @param {[string, number][]} parts */
export function partsBar(parts, label) {
    const whole = parts.reduce((all, [, count]) => all + count, 0);
    return h(
        "span.bar",
        { role: "img", "aria-label": label },
        parts
            .filter(([, count]) => count > 0)
            .map(([state, count]) =>
                h(`span.is-${state}`, {
                    vars: { "--part": `${(100 * count) / whole}%` },
                    title: `${state}: ${number(count)}`,
                }),
            ),
    );
}

function columns(series, top) {
    const pattern = "hatch";
    const { succeeded, failed, started } = series;
    const good = succeeded.map((each, at) => rect(at, HEIGHT, (-each / top) * HEIGHT)).join("");
    const bad = failed.map((each, at) => rect(at, HEIGHT * (1 - succeeded[at] / top), (-each / top) * HEIGHT)).join("");
    return [
        h(
            "defs",
            {},
            h(
                "pattern",
                { id: pattern, width: 0.4, height: 5, patternUnits: "userSpaceOnUse" },
                h("rect.hatch-ground", { width: 0.4, height: 5 }),
                h("rect.hatch-line", { width: 0.4, height: 2.5 }),
            ),
        ),
        h("path.bar-good", { d: good }),
        h("path.bar-bad", { d: bad, fill: `url(#${pattern})` }),
        started.map((each, at) =>
            h(
                "rect.chart-touch",
                { x: at, width: 1, height: HEIGHT },
                h("title", {}, `${hour(startOf(series, at))} UTC: ${told(each, succeeded[at], failed[at])}`),
            ),
        ),
    ];
}

function told(started, succeeded, failed) {
    return `${number(started)} started, ${number(succeeded)} succeeded, ${number(failed)} failed`;
}

function picture(kind, length, label, inside) {
    const words = { viewBox: `0 0 ${length} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label };
    return h(`svg.${kind}`, words, inside);
}

function rect(at, base, height) {
    return height ? `M${at + 0.12} ${round(base)}v${round(height)}h.76v${round(-height)}z` : "";
}

function line(values, top) {
    return values.map((each, at) => `${at ? "L" : "M"}${at + 0.5} ${round(HEIGHT * (1 - each / top))}`).join("");
}

function times(series, length) {
    return [0, 0.5, 1].map((part) => h("span", {}, hour(startOf(series, Math.round(part * length))).slice(0, 5)));
}

function startOf({ from, step_s }, at) {
    return new Date(from).getTime() + at * step_s * 1000;
}

/** Return the next round number: 1, 2, 5, 10, 20 … */
function nice(value) {
    const ten = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((each) => each * ten).find((each) => each >= value);
}

function sum(values) {
    return values.reduce((all, each) => all + each, 0);
}

function round(value) {
    return Math.round(value * 100) / 100;
}
