// One box of a graph: its name, its state as colour and sign, and how many jobs are in which state.

import { h } from "../element.js";
import { sign } from "../states.js";
import { number, plain } from "../words.js";

const PADDING = 8;
const SIGN = 9;
const BAR = 2;
const INSET = 5;
const LINE = 14;
const COUNTS_MAX = 4;
/** Greatest width of a letter in a box. */
const CHAR = 6.65;

/** @param {import("./nodes.js").GraphNode} node */
export function box(node) {
    const { width, height } = node;
    const chars = Math.floor((width - 2 * PADDING + 3) / CHAR);
    const middle = node.sub ? 12 : height / 2;
    return [
        h("title", {}, node.said),
        node.folded > 1 && h("rect.graph-box.pile", { x: 3, y: 3, width, height, rx: 5 }),
        h(`rect.graph-box${node.is_table ? ".is-table" : ""}`, { width, height, rx: node.is_table ? 0 : 5 }),
        h("text.graph-head", { x: PADDING, y: middle + 4 }, cut(node.head, chars)),
        node.sub && h("text.graph-sub", { x: PADDING, y: middle + 4 + LINE }, cut(node.sub, chars)),
        ...shares(node),
        node.state && seal(node),
        counts(node),
    ];
}

/** State, at the upper right corner, so that the name has the whole box. */
function seal({ state, width }) {
    const group = h(
        "g.graph-sealed",
        { transform: `translate(${width - 3} 2)` },
        h("circle.graph-seal", { r: SIGN * 0.75 }),
    );
    group.append(signAt(state, -SIGN / 2, -SIGN / 2));
    return group;
}

function signAt(state, x, y) {
    const found = sign(state);
    for (const [word, value] of Object.entries({ x, y, width: SIGN, height: SIGN })) found.setAttribute(word, value);
    return found;
}

/** Shares of the states among the jobs of an app, along the lower edge. */
function shares({ counts: found, width, height }) {
    const whole = found.reduce((sum, [, count]) => sum + count, 0);
    let x = INSET;
    return found.map(([state, count]) => {
        const part = ((width - 2 * INSET) * count) / whole;
        const rect = h(`rect.graph-share.is-${state}`, {
            x: x.toFixed(2),
            y: height - BAR - 2,
            width: part.toFixed(2),
            height: BAR,
        });
        x += part;
        return rect;
    });
}

/** Counts below the box, visible at a large scale. */
function counts({ counts: found, height }) {
    if (!found.length) return null;
    let x = 1;
    const told = found.slice(-COUNTS_MAX).map(([state, count]) => {
        const text = number(count);
        const group = h(
            `g.is-${state}`,
            { transform: `translate(${x} ${height + 2})` },
            signAt(state, 0, 1),
            h("text.graph-count", { x: SIGN + 2, y: SIGN }, text),
            h("title", {}, `${text} ${plain(state)}`),
        );
        x += SIGN + 7 + text.length * 5;
        return group;
    });
    return h("g.graph-counts", {}, told);
}

function cut(text, chars) {
    return text.length <= chars ? text : `${text.slice(0, Math.max(1, chars - 1))}…`;
}
