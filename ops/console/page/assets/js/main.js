// Start of the page: sign-in, then the frame, then the screen of the address.

import { whenStranger } from "./api.js";
import { frame, lamp, mayHaveMoved, showAlertCount } from "./frame.js";
import * as live from "./live.js";
import { fetchAll, screenOf } from "./places.js";
import * as router from "./router.js";
import { begin, signInByAddress, tokenOfAddress } from "./session.js";
import * as shortcuts from "./shortcuts.js";
import { signInScreen } from "./signin.js";
import { hear, redraw, show, showDefinitionsBanner } from "./stage.js";
import { remember } from "./store.js";
import * as theme from "./theme.js";
import * as toast from "./toast.js";

/** Latest requested screen. */
let latest = null;

theme.start(() => window.dispatchEvent(new Event("repaint")));
window.addEventListener("repaint", redraw);
// If the address with a token is pasted into a tab that shows the console already, only the part behind the # changes.
window.addEventListener("hashchange", () => tokenOfAddress() !== null && location.reload());
enter();

async function enter() {
    try {
        await signInByAddress();
        await begin();
    } catch (error) {
        document.body.replaceChildren(signInScreen(error, enter));
        return;
    }
    whenStranger(leave);
    document.body.replaceChildren(frame(leave));
    toast.start();
    live.start({ heard, told: lamp });
    shortcuts.start();
    router.start(arrive);
    (window.requestIdleCallback ?? setTimeout)(fetchAll);
}

async function arrive(place, { moved }) {
    latest = place;
    mayHaveMoved(place);
    const focused = document.activeElement;
    const screen = await screenOf(place);
    // Do not show it if the user went to another screen while the module was fetched.
    if (place === latest) await show(screen, { moved, focused });
}

function heard(kind, news) {
    if (kind === "overview") {
        remember(news);
        showAlertCount(news.alarms ?? []);
        showDefinitionsBanner(news.alarms ?? []);
    }
    hear(kind, news);
}

/** Restart after a sign-out, or if the token is no longer valid. */
function leave() {
    location.reload();
}
