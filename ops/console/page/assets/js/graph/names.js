// From afar the boxes are too small to be read. Then as many names as have room are written over them, in a size that can.

import { h } from "../element.js";

const CHAR = 6.8;
const HEIGHT = 15;
const SHOWN_MAX = 140;

/**
 * @param {import("./nodes.js").GraphNode[]} nodes those whose names matter most first
 * @param {import("./viewport.js").Viewport} view
 */
export function names(nodes, view) {
  const taken = [];
  const shown = [];
  for (const node of nodes) {
    const x = view.x + (node.x + node.width / 2) * view.scale;
    const y = view.y + (node.y + node.height / 2) * view.scale;
    if (x < 0 || y < 0 || x > view.width || y > view.height) continue;
    const half = (node.head.length * CHAR) / 2 + 4;
    const box = { left: x - half, right: x + half, top: y - HEIGHT / 2, bottom: y + HEIGHT / 2 };
    if (taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    shown.push(h("text.graph-name", { x: x.toFixed(1), y: (y + 4).toFixed(1) }, node.head));
    if (shown.length === SHOWN_MAX) break;
  }
  return shown;
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
