// Actions: confirm in a dialog, call, and show the result.

import { ask } from "./dialog.js";
import { refresh } from "./stage.js";
import { forget } from "./store.js";
import { failed, told } from "./toast.js";

/**
 * @typedef {object} Action
 * @property {import("./dialog.js").Question} question
 * @property {(filled: Record<string, string>) => Promise<any>} call
 * @property {(answer: any) => string} came text of the result
 */

/** @param {Action} action @returns {Promise<any>} the answer; undefined if nothing was done */
export async function act({ question, call, came }) {
    const filled = await ask(question);
    if (filled === null) return undefined;
    try {
        const answer = await call(filled);
        told(came(answer));
        forget();
        await refresh();
        return answer;
    } catch (error) {
        failed(error);
        return undefined;
    }
}
