// To act: it is said what will happen, it is done, and told what came of it.

import { ask } from "./dialog.js";
import { refresh } from "./stage.js";
import { forget } from "./store.js";
import { failed, told } from "./toast.js";

/**
 * @typedef {object} Action
 * @property {import("./dialog.js").Question} question
 * @property {(filled: Record<string, string>) => Promise<any>} call
 * @property {(answer: any) => string} came what to tell of it
 */

/** @param {Action} action @returns {Promise<any>} the answer; undefined where nothing was done */
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
