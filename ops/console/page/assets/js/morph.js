// Updates the page in place, without disturbing reading, typing or focus.

import { h } from "./element.js";

/** Attributes that the user controls after the first display. */
const THEIRS = new Set(["open", "value", "checked", "aria-expanded"]);

/**
 * Make `old` look like `fresh`. Elements with the same `data-key` are the same; one with `data-keep` draws itself, and
 * stays where it is: if it were removed and inserted again, it would lose focus and scroll position.
 * @param {any} old
 * @param {any} fresh
 * @returns {Node} the node that is now in the page
 */
export function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || keyOf(old) !== keyOf(fresh)) {
        old.replaceWith(fresh);
        return fresh;
    }
    if (old.nodeType === Node.TEXT_NODE) {
        if (old.data !== fresh.data) old.data = fresh.data;
    } else if (!("keep" in old.dataset) || !("keep" in fresh.dataset)) {
        dress(old, fresh);
        populate(old, [...fresh.childNodes]);
    }
    return old;
}

function keyOf(node) {
    return node.dataset?.key;
}

function dress(old, fresh) {
    for (const { name } of [...old.attributes])
        if (!fresh.hasAttribute(name) && !THEIRS.has(name) && name !== "style") old.removeAttribute(name);
    for (const { name, value } of fresh.attributes)
        if (old.getAttribute(name) !== value && !THEIRS.has(name) && name !== "style") old.setAttribute(name, value);
    if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
    // The value follows the address, unless the user types in the field.
    if ("follows" in fresh.dataset && old !== document.activeElement) old.value = fresh.getAttribute("value") ?? "";
    old.heard = fresh.heard;
}

function populate(old, wanted) {
    const known = new Map();
    for (const child of old.childNodes) if (keyOf(child)) known.set(keyOf(child), child);
    const names = new Set(wanted.map(keyOf));
    let place = old.firstChild;
    for (const child of wanted) {
        while (place && keyOf(place) && !names.has(keyOf(place))) place = dropped(place);
        const same = keyOf(child) ? known.get(keyOf(child)) : keyOf(place ?? child) ? null : place;
        if (!same) old.insertBefore(child, place);
        else {
            if (same !== place) old.insertBefore(same, place);
            place = morph(same, child).nextSibling;
        }
    }
    while (place) place = dropped(place);
}

function dropped(child) {
    const next = child.nextSibling;
    child.remove();
    return next;
}

/** Return the element itself if it is not in the page yet, else a placeholder for its position. */
export function kept(element) {
    return element.isConnected ? h("div", { "data-keep": "", "data-key": element.dataset.key }) : element;
}
