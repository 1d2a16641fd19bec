// By day, by night, or as the system has it; the choice is kept in this browser.

const KEPT = "sluice.theme";
export const THEMES = [
    { name: "system", icon: "half", words: "Light or dark, as the system is" },
    { name: "light", icon: "sun", words: "Light" },
    { name: "dark", icon: "moon", words: "Dark" },
];

let changed = () => {};

export function theme() {
    try {
        return localStorage.getItem(KEPT) ?? "system";
    } catch {
        return "system"; // A browser that keeps nothing.
    }
}

export function choose(name) {
    try {
        localStorage.setItem(KEPT, name);
    } catch {
        // It holds until the page is closed.
    }
    dress(name);
    changed();
}

export function cycle() {
    const names = THEMES.map((each) => each.name);
    choose(names[(names.indexOf(theme()) + 1) % names.length]);
}

/** `call` hears of every change, the system's own too: what is painted has to be painted again. */
export function start(call) {
    changed = call;
    dress(theme());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed());
}

function dress(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
}
