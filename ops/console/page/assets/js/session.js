// Who asks: somebody who may look, or somebody who may also act.

import { change, get, post } from "./api.js";

/** @type {{role: "view" | "operate", needs_token: boolean}} */
let session = { role: "view", needs_token: true };

export async function begin() {
    session = await get("/api/session");
    return session;
}

export function mayAct() {
    return session.role === "operate";
}

export function isSignedIn() {
    return session.needs_token;
}

export async function signIn(token) {
    await post("/api/session", { token });
}

export async function signOut() {
    await change("DELETE", "/api/session");
}
