// The visible grid: it scrolls, and the arrow keys move a cursor from cell to cell.

import { h } from "../element.js";
import { cellAt } from "./model.js";
import { CELL, HEAD, paint } from "./painter.js";

const MARGIN = [72, 190];
const MARGIN_NARROW = 104;
const CHAR = 7;
const ROWS_MIN = 3;
const HEIGHT_MAX = 620;
const PAGE = 10;

export class GridView {
    /** @param {{chosen: (cell: any) => void}} options called for the chosen cell */
    constructor({ chosen }) {
        Object.assign(this, { chosen, grid: null, cursor: { x: 0, y: 0 }, frame: 0 });
        this.canvas = h("canvas.grid-paper", { "aria-hidden": "true" });
        this.spacer = h("div.grid-spacer");
        this.said = h("div.aside-text", { role: "status" });
        this.tip = h("div.grid-tip", { hidden: true, "aria-hidden": "true" });
        this.box = h(
            "div.grid",
            {
                tabindex: "0",
                role: "application",
                "aria-label": "Partitions by time. Arrow keys move from cell to cell. Enter shows the job of the cell.",
                on: {
                    scroll: () => this.later(),
                    keydown: (event) => this.press(event),
                    click: (event) => this.click(event),
                    pointermove: (event) => this.point(event),
                    pointerleave: () => (this.tip.hidden = true),
                    focus: () => this.later(),
                    blur: () => this.later(),
                },
            },
            h("div.grid-stick", {}, this.canvas),
            this.spacer,
        );
        this.element = h("div.grid-frame", { "data-keep": "", "data-key": "cells" }, this.box, this.tip, this.said);
        new ResizeObserver(() => this.resized()).observe(this.box);
        window.addEventListener("repaint", () => this.later());
    }

    /** @param {import("./model.js").Grid} grid @param {{table: string, partition: string} | null} [at] to begin */
    show(grid, at = null) {
        const is_first = this.grid === null || this.grid.columns[0] !== grid.columns[0];
        this.grid = grid;
        const { columns, rows } = grid;
        if (is_first) this.cursor = { x: columns.length - 1, y: 0 };
        this.cursor.y = Math.min(this.cursor.y, rows.length - 1);
        this.box.style.setProperty(
            "--grid-height",
            `${Math.min(HEAD + Math.max(rows.length, ROWS_MIN) * CELL + 4, HEIGHT_MAX)}px`,
        );
        this.spacer.style.setProperty("--grid-width", `${columns.length * CELL}px`);
        this.spacer.style.setProperty("--grid-full", `${rows.length * CELL + HEAD}px`);
        if (is_first) requestAnimationFrame(() => this.begin(at));
        this.later();
    }

    /** Scroll to the requested cell, or to the latest column. */
    begin(at) {
        const x = this.grid.columns.indexOf(at?.partition);
        const y = this.grid.rows.findIndex((each) => each.table === at?.table);
        if (x >= 0 && y >= 0) this.move(x, y);
        else this.box.scrollTo(this.box.scrollWidth, 0);
    }

    /** Keep the latest columns visible: the oldest ones are cut off. */
    resized() {
        const width = this.box.clientWidth;
        if (this.seen_width) this.box.scrollLeft += this.seen_width - width;
        this.seen_width = width;
        this.later();
    }

    get margin() {
        const longest = Math.max(...this.grid.rows.map((each) => each.table.length));
        return Math.min(
            Math.max(longest * CHAR + 16, MARGIN[0]),
            this.box.clientWidth < 600 ? MARGIN_NARROW : MARGIN[1],
        );
    }

    later() {
        if (!this.frame) this.frame = requestAnimationFrame(() => this.repaint());
    }

    repaint() {
        this.frame = 0;
        const { clientWidth: width, clientHeight: height, scrollLeft: left, scrollTop: top } = this.box;
        if (!this.grid || !width) return;
        this.spacer.style.setProperty("--grid-margin", `${this.margin}px`);
        const dots = window.devicePixelRatio || 1;
        if (this.canvas.width !== Math.round(width * dots) || this.canvas.height !== Math.round(height * dots)) {
            this.canvas.width = Math.round(width * dots);
            this.canvas.height = Math.round(height * dots);
            this.canvas.style.width = `${width}px`;
            this.canvas.style.height = `${height}px`;
        }
        const paper = this.canvas.getContext("2d");
        paper.setTransform(dots, 0, 0, dots, 0, 0);
        const focused = document.activeElement === this.box;
        paint(paper, this.grid, { left, top, width, height, margin: this.margin, cursor: this.cursor, focused });
    }

    press(event) {
        const { columns, rows } = this.grid;
        const step = {
            ArrowLeft: [-1, 0],
            ArrowRight: [1, 0],
            ArrowUp: [0, -1],
            ArrowDown: [0, 1],
            PageUp: [0, -PAGE],
            PageDown: [0, PAGE],
            Home: [-columns.length, 0],
            End: [columns.length, 0],
        }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "Enter" || event.key === " ") this.chosen(cellAt(this.grid, this.cursor.x, this.cursor.y));
        else if (step) {
            const kept = (value, count) => Math.min(Math.max(value, 0), count - 1);
            this.move(kept(this.cursor.x + step[0], columns.length), kept(this.cursor.y + step[1], rows.length));
        } else return;
        event.preventDefault();
    }

    move(x, y) {
        this.cursor = { x, y };
        this.said.textContent = cellAt(this.grid, x, y)?.said ?? "";
        const { box, margin } = this;
        box.scrollLeft = Math.min(Math.max(box.scrollLeft, (x + 1) * CELL - box.clientWidth + margin), x * CELL);
        box.scrollTop = Math.min(Math.max(box.scrollTop, (y + 1) * CELL - box.clientHeight + HEAD), y * CELL);
        this.later();
    }

    click(event) {
        const at = this.under(event);
        if (!at) return;
        this.move(at.x, at.y);
        this.chosen(cellAt(this.grid, at.x, at.y));
    }

    point(event) {
        const at = this.under(event);
        const cell = at && cellAt(this.grid, at.x, at.y);
        this.tip.hidden = !cell;
        if (!cell) return;
        this.tip.textContent = cell.said;
        const box = this.element.getBoundingClientRect();
        this.tip.style.setProperty(
            "--left",
            `${Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth)}px`,
        );
        this.tip.style.setProperty("--top", `${event.clientY - box.top + 18}px`);
    }

    under(event) {
        const box = this.box.getBoundingClientRect();
        const [left, top] = [event.clientX - box.left - this.margin, event.clientY - box.top - HEAD];
        if (left < 0 || top < 0 || !this.grid) return null;
        const [x, y] = [Math.floor((left + this.box.scrollLeft) / CELL), Math.floor((top + this.box.scrollTop) / CELL)];
        return x < this.grid.columns.length && y < this.grid.rows.length ? { x, y } : null;
    }
}
