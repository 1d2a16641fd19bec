// Paints the visible part of the grid. Each state has a colour and a shape, so that colour vision is not needed.

import { colour } from "../paint.js";
import { outline } from "../states.js";
import { STALE, isFirstOfWeek, marks, stateOf, tick } from "./model.js";

export const CELL = 18;
export const HEAD = 40;
const GAP = 2;
const ROUND = 3;
const SIGN = 10;
/** Shape of a stale cell. */
const WAVE = { fill: null, line: new Path2D("M2 9.5c2-5 4-5 6-1.5s4 3.5 6-1.5") };

/**
 * @param {CanvasRenderingContext2D} paper
 * @param {import("./model.js").Grid} grid
 * @param {{left: number, top: number, width: number, height: number, margin: number, cursor: {x: number, y: number},
 *   focused: boolean}} seen
 */
export function paint(paper, grid, seen) {
    const look = looks(grid);
    paper.clearRect(0, 0, seen.width, seen.height);
    cells(paper, grid, seen, look);
    cursor(paper, seen, look);
    heads(paper, grid, seen, look);
    names(paper, grid, seen, look);
}

function looks(grid) {
    const of = {};
    for (const sign of Object.keys(grid.legend)) {
        const state = stateOf(grid, sign);
        const kind = state ? `is-${state}` : ({ "=": "is-succeeded", [STALE]: "is-stale" }[sign] ?? "");
        of[sign] = {
            full: kind ? colour(kind, "--state") : colour("", "--line"),
            soft: kind ? colour(kind, "--state-soft") : colour("", "--sunk"),
            shape: sign === STALE ? WAVE : state && state !== "succeeded" ? outline(state) : null,
        };
    }
    const [ink, faint, card, line, accent] = ["--ink", "--faint", "--card", "--line", "--accent"].map((each) =>
        colour("", each),
    );
    return { of, ink, faint, card, line, accent, font: getComputedStyle(document.body).fontFamily };
}

function range(seen, grid) {
    return {
        from: Math.max(0, Math.floor(seen.left / CELL)),
        to: Math.min(grid.columns.length, Math.ceil((seen.left + seen.width - seen.margin) / CELL)),
        first: Math.max(0, Math.floor(seen.top / CELL)),
        last: Math.min(grid.rows.length, Math.ceil((seen.top + seen.height - HEAD) / CELL)),
    };
}

function cells(paper, grid, seen, look) {
    const { from, to, first, last } = range(seen, grid);
    const size = CELL - GAP;
    for (let y = first; y < last; y += 1)
        for (let x = from; x < to; x += 1) {
            const sign = grid.rows[y].cells[x];
            const { full, soft, shape } = look.of[sign];
            const left = seen.margin + x * CELL - seen.left;
            const top = HEAD + y * CELL - seen.top;
            paper.beginPath();
            paper.roundRect(left, top, size, size, ROUND);
            paper.fillStyle = sign === "#" ? full : soft;
            paper.globalAlpha = sign === "#" ? 0.75 : 1;
            paper.fill();
            paper.globalAlpha = 1;
            if (sign === "=") half(paper, left, top, size, full);
            if (shape) stamp(paper, shape, left + (size - SIGN) / 2, top + (size - SIGN) / 2, full);
        }
}

/** A partly complete cell is partly filled. */
function half(paper, left, top, size, full) {
    paper.globalAlpha = 0.75;
    paper.fillStyle = full;
    paper.beginPath();
    paper.roundRect(left, top + size / 2, size, size / 2, [0, 0, ROUND, ROUND]);
    paper.fill();
    paper.globalAlpha = 1;
}

function stamp(paper, shape, x, y, full) {
    paper.save();
    paper.translate(x, y);
    paper.scale(SIGN / 16, SIGN / 16);
    paper.fillStyle = paper.strokeStyle = full;
    paper.lineWidth = 2.4;
    paper.lineCap = paper.lineJoin = "round";
    if (shape.fill) paper.fill(shape.fill);
    if (shape.line) paper.stroke(shape.line);
    paper.restore();
}

function cursor(paper, seen, look) {
    const { x, y } = seen.cursor;
    paper.strokeStyle = seen.focused ? look.accent : look.faint;
    paper.lineWidth = seen.focused ? 2.5 : 1;
    paper.beginPath();
    paper.roundRect(seen.margin + x * CELL - seen.left - 1, HEAD + y * CELL - seen.top - 1, CELL, CELL, ROUND + 1);
    paper.stroke();
}

/** Months, and days below them. They stay in place when the grid is scrolled vertically. */
function heads(paper, grid, seen, look) {
    paper.fillStyle = look.card;
    paper.fillRect(0, 0, seen.width, HEAD - 2);
    const { from, to } = range(seen, grid);
    paper.textBaseline = "middle";
    paper.textAlign = "center";
    paper.font = `10px ${look.font}`;
    for (let x = from; x < to; x += 1) {
        const column = grid.columns[x];
        const middle = seen.margin + x * CELL - seen.left + (CELL - GAP) / 2;
        paper.fillStyle = x === seen.cursor.x ? look.accent : look.faint;
        paper.fillText(tick(column), middle, HEAD - 10);
        if (isFirstOfWeek(grid, column)) {
            paper.fillStyle = look.line;
            paper.fillRect(seen.margin + x * CELL - seen.left - GAP, HEAD - 17, 1, seen.height);
        }
    }
    paper.textAlign = "left";
    paper.font = `600 11px ${look.font}`;
    const found = marks(grid);
    found.forEach(({ at, words }, place) => {
        const end = seen.margin + (found[place + 1]?.at ?? grid.columns.length) * CELL - seen.left;
        const left = Math.max(seen.margin + at * CELL - seen.left, seen.margin);
        paper.fillStyle = look.ink;
        if (end - left > 48) paper.fillText(words, left, 11);
    });
}

/** The tables' names, above the cells that are scrolled below them. */
function names(paper, grid, seen, look) {
    const { first, last } = range(seen, grid);
    paper.fillStyle = look.card;
    paper.fillRect(0, 0, seen.margin - 3, seen.height);
    paper.textAlign = "left";
    for (let y = first; y < last; y += 1) {
        const { table, app } = grid.rows[y];
        const top = HEAD + y * CELL - seen.top + (CELL - GAP) / 2;
        if (top < HEAD) continue;
        paper.font = `${y === seen.cursor.y ? "600 " : ""}12px ${look.font}`;
        paper.fillStyle = app ? look.ink : look.faint;
        paper.fillText(fitted(paper, table, seen.margin - 14), 0, top);
    }
}

function fitted(paper, text, width) {
    if (paper.measureText(text).width <= width) return text;
    let end = text.length;
    while (end > 1 && paper.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
    return `${text.slice(0, end)}…`;
}
