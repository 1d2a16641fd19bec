// The session: its role may only read, may also submit, or may carry out all acts.

import { change, get, post } from "./api.js";

/** @type {{role: "view" | "submit" | "operate", tenant: string | null}} */
let session = { role: "view", tenant: null };

export async function begin() {
    session = await get("/api/session");
    return session;
}

export function mayAct() {
    return session.role === "operate";
}

/** Whether the session may see only the apps of one tenant. */
export function isOfTenant() {
    return session.tenant !== null;
}

export function maySubmit() {
    return session.role !== "view";
}

/** The token that `sluice up` prints behind the # of the address. */
export function tokenOfAddress() {
    return new URLSearchParams(location.hash.slice(1)).get("token");
}

/** Open a session with the token. It is first removed from the address and from the browser's history. */
export async function signInByAddress() {
    const token = tokenOfAddress();
    if (token === null) return;
    history.replaceState(null, "", location.pathname + location.search);
    await signIn(token);
}

export async function signIn(token) {
    await post("/api/session", { token });
}

export async function signOut() {
    await change("DELETE", "/api/session");
}
