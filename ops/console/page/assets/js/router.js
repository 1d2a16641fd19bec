// Addresses of screens, and navigation. Addresses are permanent: they can be bookmarked, shared and reloaded.

/** @typedef {{words: string[], query: URLSearchParams}} Place */

let arrive = () => {};

/** @param {(place: Place, options: {moved: boolean}) => void} call for each address, the present one first */
export function start(call) {
    arrive = (moved) => call(place(), { moved });
    window.addEventListener("popstate", () => arrive(true));
    document.addEventListener("click", follow);
    arrive(false);
}

/** @returns {Place} */
export function place() {
    const words = location.pathname.slice(1).split("/").map(readable);
    // A slash at the end is ignored, unless it is the empty key of a job: /jobs/APP/
    if (words.length !== 3 && words.at(-1) === "") words.pop();
    return { words, query: new URLSearchParams(location.search) };
}

export function go(address, { replace = false } = {}) {
    history[replace ? "replaceState" : "pushState"](null, "", address);
    arrive(true);
}

/** The address of a screen: `to("jobs", app, key)`; `query` may hold lists. */
export function to(...words) {
    return `/${words.map(encodeURIComponent).join("/")}`;
}

export function asked(address, query) {
    const found = new URLSearchParams();
    for (const [word, value] of Object.entries(query))
        for (const each of [value].flat()) if (each) found.append(word, each);
    return found.size ? `${address}?${found}` : address;
}

function readable(word) {
    try {
        return decodeURIComponent(word);
    } catch {
        return word;
    }
}

function follow(event) {
    const link = event.target.closest?.("a[href]");
    const is_plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !is_plain || event.defaultPrevented || link.hasAttribute("download")) return;
    const href = link.getAttribute("href");
    if (link.target || href.startsWith("#") || href.startsWith("/api/") || href === "/metrics") return;
    event.preventDefault();
    go(href);
}
