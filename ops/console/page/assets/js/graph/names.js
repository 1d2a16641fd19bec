// At a small scale the boxes are unreadable. Then as many names as fit are written over them in a readable size.

import { h } from "../element.js";
import { sign } from "../states.js";

const CHAR = 6.8;
const HEIGHT = 15;
const SHOWN_MAX = 140;
const SIGN = 9;

/**
 * @param {import("./nodes.js").GraphNode[]} nodes the most important names first
 * @param {import("./viewport.js").Viewport} view
 */
export function names(nodes, view) {
    const taken = [];
    const shown = [];
    for (const node of nodes) {
        const middle = view.x + (node.x + node.width / 2) * view.scale;
        const y = view.y + (node.y + node.height / 2) * view.scale;
        if (middle < 0 || y < 0 || middle > view.width || y > view.height) continue;
        const half = (node.head.length * CHAR + (node.state ? SIGN + 4 : 0)) / 2 + 4;
        const x = Math.min(Math.max(middle, half), view.width - half);
        const box = { left: x - half, right: x + half, top: y - HEIGHT / 2, bottom: y + HEIGHT / 2 };
        if (taken.some((other) => overlap(box, other))) continue;
        taken.push(box);
        shown.push(name(node, x, y, half));
        if (shown.length === SHOWN_MAX) break;
    }
    return shown;
}

/** With the sign of its state before it. */
function name({ head, state }, x, y, half) {
    const text = h(
        "text.graph-name",
        { x: (x + (state ? (SIGN + 3) / 2 : 0)).toFixed(1), y: (y + 4).toFixed(1) },
        head,
    );
    if (!state) return text;
    const found = sign(state);
    const place = { x: x - half + 4, y: y - SIGN / 2, width: SIGN, height: SIGN };
    for (const [word, value] of Object.entries(place)) found.setAttribute(word, value);
    return h(`g.is-${state}`, {}, text, found);
}

function overlap(a, b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
