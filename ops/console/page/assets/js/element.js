// The only place where elements are made. Content is text, never markup; attributes that could run code are refused.

const SVG = "http://www.w3.org/2000/svg";
const SVG_NAMES = new Set("svg g path rect circle text title defs pattern marker".split(" "));
/** Allowed links: a screen of this page, or a part of it. */
const OURS = /^(?:\/(?!\/)|#)/;

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * An element: `h("p.note", {title}, "text", child)`. `on` has its listeners, `vars` its custom properties.
 * @param {string} name the tag, with its classes behind dots
 * @param {Record<string, any>} [attributes] null and false are left out, true is empty
 * @param {...Child} children
 * @returns {any}
 */
export function h(name, attributes = {}, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = SVG_NAMES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    if (classes.length) element.setAttribute("class", classes.join(" "));
    for (const [word, value] of Object.entries(attributes)) give(element, word, value);
    add(element, children);
    return element;
}

/** @param {Node} element @param {Child[]} children */
export function add(element, children) {
    for (const child of children) {
        if (Array.isArray(child)) add(element, child);
        else if (child instanceof Node) element.appendChild(child);
        else if (child !== null && child !== undefined && child !== false)
            element.appendChild(document.createTextNode(String(child)));
    }
}

function give(element, word, value) {
    if (value === null || value === undefined || value === false) return;
    if (word === "on") return listen(element, value);
    if (word === "vars") {
        for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
        return;
    }
    if (word.startsWith("on") || word === "style" || word === "srcdoc" || word === "src")
        throw new Error(`The attribute ${word} is not allowed.`);
    if (word === "href" && !OURS.test(value)) throw new Error(`A link to ${value} is not allowed.`);
    if (word === "class") element.classList.add(...value.split(" ").filter(Boolean));
    else element.setAttribute(word, value === true ? "" : String(value));
}

/** Listeners are looked up when they are called, so that a redrawn element can take over those of the new one. */
function listen(element, listeners) {
    element.heard = listeners;
    for (const kind of Object.keys(listeners)) element.addEventListener(kind, hear);
}

function hear(event) {
    this.heard?.[event.type]?.call(this, event);
}
