// Content of a graph: boxes with their texts, and lines between them.

import { BAD, STATES } from "../states.js";
import { number, plain } from "../words.js";

/**
 * @typedef {object} GraphNode
 * @property {string} id
 * @property {string} app
 * @property {string} [key]
 * @property {string} head
 * @property {string} [sub] below the head
 * @property {string} state the most urgent state; empty for none
 * @property {[string, number][]} counts by state
 * @property {number} x @property {number} y @property {number} width @property {number} height
 * @property {boolean} [is_table] an external table
 * @property {string} said text for screen readers
 *
 * @typedef {{parents: string[], children: string[], path: string, label: string, label_x: number, label_y: number,
 *   back: boolean, added: boolean}} Line from parents to children: one node each, or all of a frame
 * @typedef {{width: number, height: number, nodes: GraphNode[], frames: any[], lines: Line[]}} Picture
 */

const STRETCH = 1.5;
const POINT = /(-?[\d.]+),(-?[\d.]+)/g;

/** States in order of urgency. */
const EYE = [
    ...BAD,
    "suspended",
    "running",
    "executed",
    "ready",
    "waiting",
    "succeeded",
    "expected",
    "skipped",
    "cancelled",
    "split",
];

/** The graph of apps, with the number of jobs of each in each state. @returns {Picture} */
export function appNodes(graph, counts) {
    const nodes = graph.apps.map((each) => {
        const found = counts[each.name] ?? {};
        const present = STATES.filter((state) => found[state]).map((state) => [state, found[state]]);
        const said = present.map(([state, count]) => `${number(count)} ${plain(state)}`).join(", ") || "no jobs";
        const state = EYE.find((one) => found[one]) ?? "";
        return {
            ...each,
            id: each.name,
            app: each.name,
            head: each.label,
            state,
            counts: present,
            said: `${each.name}: ${said}`,
        };
    });
    const tables = graph.tables.map((each) => ({
        ...each,
        app: null,
        head: each.label,
        state: "",
        counts: [],
        is_table: true,
        said: `${each.id}: no app fills it`,
    }));
    return stretched({ ...sized(graph), nodes: [...nodes, ...tables] });
}

/** A job with its upstream and downstream jobs. @returns {Picture} */
export function jobNodes(graph) {
    const nodes = graph.jobs.map((each) => {
        const many = each.folded > 1;
        const head = many ? `${each.app} ×${number(each.folded)}` : each.app;
        return { ...each, head, sub: each.label, counts: [], said: `${head}/${each.key}: ${plain(each.state)}` };
    });
    return { ...sized(graph), nodes };
}

/** Greater vertical distances, because the counts need room below each box. */
function stretched(picture) {
    const moved = ({ y, height }) => y + ((STRETCH - 1) * (2 * y + height)) / 2;
    return {
        ...picture,
        height: picture.height * STRETCH,
        nodes: picture.nodes.map((each) => ({ ...each, y: moved(each) })),
        frames: picture.frames.map((each) => ({ ...each, y: each.y * STRETCH, height: each.height * STRETCH })),
        lines: picture.lines.map((each) => ({
            ...each,
            label_y: each.label_y * STRETCH,
            path: each.path.replace(POINT, (_, x, y) => `${x},${(y * STRETCH).toFixed(1)}`),
        })),
    };
}

function sized({ width, height, frames, needs }) {
    return { width, height, frames, lines: needs };
}
