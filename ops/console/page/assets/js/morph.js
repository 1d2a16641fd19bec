// What is shown is brought up to date in place: whoever reads, types or has something focused is not disturbed.

import { h } from "./element.js";

/** These are the reader's own once they are shown. */
const THEIRS = new Set(["open", "value", "checked", "aria-expanded"]);

/**
 * Make `old` look like `fresh`. Elements with the same `data-key` are the same; one with `data-keep` draws itself, and
 * stays where it is: taken out and put back, it would lose the focus and how far it was scrolled.
 * @param {any} old
 * @param {any} fresh
 * @returns {Node} what stands there now
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
    // What is filled in follows the address it stands for, unless somebody types there.
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

/** What stands for an element that draws itself: itself at first, and then a mark of the place that it has. */
export function kept(element) {
    return element.isConnected ? h("div", { "data-keep": "", "data-key": element.dataset.key }) : element;
}
