// The sign-in screen.

import { h } from "./element.js";
import { field, line } from "./fields.js";
import { icon, mark } from "./icons.js";
import { signIn } from "./session.js";

const HELP = "SLUICE_CONSOLE_TOKEN, a named token, or the token in the address that `sluice up` prints";

/** @param {Error & {status?: number, advice?: string}} error why @param {() => void} enter tries again */
export function signInScreen(error, enter) {
    const is_stranger = error.status === 401;
    const token = line("token", {
        type: "password",
        autocomplete: "current-password",
        required: true,
        autofocus: true,
    });
    const trouble = h("div", { role: "alert" }, is_stranger ? null : notice(error));
    const button = h("button.button.first", {}, is_stranger ? "Sign in" : "Try again");
    const form = h(
        "form.card",
        { on: { submit } },
        h("div.brand", {}, mark(), h("h1", {}, "Sluice")),
        is_stranger && field({ label: "Token", help: HELP, input: token }),
        trouble,
        button,
    );

    async function submit(event) {
        event.preventDefault();
        button.disabled = true;
        try {
            if (is_stranger) await signIn(token.value);
            enter();
        } catch (refused) {
            trouble.replaceChildren(notice(refused));
            button.disabled = false;
            token.select();
        }
    }

    document.title = "Sign in · Sluice";
    return h("main.signin", {}, form);
}

function notice(error) {
    return h(
        "div.notice.bad",
        {},
        icon("warn"),
        h("div", {}, h("p", {}, error.message), error.advice && h("p", {}, error.advice)),
    );
}
