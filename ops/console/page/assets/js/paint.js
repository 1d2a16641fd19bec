// Colours for a canvas, read from the style sheets, because a canvas has no classes. They depend on the theme.

import { h } from "./element.js";

const probe = h("span", { class: "aside-text", "aria-hidden": "true" });

/** @param {string} kind a class @param {string} property one of ours, such as `--state` */
export function colour(kind, property) {
    if (!probe.isConnected) document.body.append(probe);
    probe.setAttribute("class", `aside-text ${kind}`);
    probe.style.color = `var(${property})`;
    return getComputedStyle(probe).color;
}
