// Light, dark, or the theme of the system. The choice is kept in this browser.

const KEPT = "sluice.theme";
export const THEMES = [
    { name: "system", icon: "half", words: "Light or dark, as in the system" },
    { name: "light", icon: "sun", words: "Light" },
    { name: "dark", icon: "moon", words: "Dark" },
];

let changed = () => {};

export function theme() {
    try {
        return localStorage.getItem(KEPT) ?? "system";
    } catch {
        return "system"; // The browser has no storage.
    }
}

export function choose(name) {
    try {
        localStorage.setItem(KEPT, name);
    } catch {
        // The choice lasts until the page is closed.
    }
    dress(name);
    changed();
}

export function cycle() {
    const names = THEMES.map((each) => each.name);
    choose(names[(names.indexOf(theme()) + 1) % names.length]);
}

/** Call `call` after every change, also of the system's theme, because canvases must be repainted. */
export function start(call) {
    changed = call;
    dress(theme());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed());
}

function dress(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
}
