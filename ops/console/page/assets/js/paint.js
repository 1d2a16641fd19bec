// Colours for what is painted: a canvas knows no classes, so they are asked of the style sheets, by day and by night.

import { h } from "./element.js";

const probe = h("span", { class: "aside-text", "aria-hidden": "true" });

/** @param {string} kind a class @param {string} property one of ours, such as `--state` */
export function colour(kind, property) {
    if (!probe.isConnected) document.body.append(probe);
    probe.setAttribute("class", `aside-text ${kind}`);
    probe.style.color = `var(${property})`;
    return getComputedStyle(probe).color;
}
