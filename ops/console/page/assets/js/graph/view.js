// Interactive graph: zoom, navigation along its lines, live states.

import { h } from "../element.js";
import { icon } from "../icons.js";
import { BAD } from "../states.js";
import { box } from "./box.js";
import { kinship } from "./kin.js";
import { names } from "./names.js";
import { Viewport } from "./viewport.js";

/** Scales from which the boxes, and the counts below them, are readable. */
const READABLE = 0.72;
const NEAR = 0.95;
const STEP_PX = 60;
const ZOOM = 1.3;

export class GraphView {
    /**
     * @param {{label: string, greedy?: boolean, chosen: (node: any) => void, focused?: (id: string | null) => void}} it
     */
    constructor({ label, greedy = false, chosen, focused = () => {} }) {
        Object.assign(this, {
            chosen,
            focused,
            picture: null,
            shape: "",
            at: null,
            frame: 0,
            boxes: new Map(),
            lines: [],
        });
        this.ground = h("g");
        this.over = h("g.graph-names", { "aria-hidden": "true" });
        this.said = h("div.aside-text", { role: "status" });
        this.svg = h(
            "svg.graph",
            {
                tabindex: "0",
                role: "application",
                "aria-label": `${label}. Arrow keys follow the lines. Enter opens the selected box.`,
            },
            h(
                "defs",
                {},
                arrow("graph-arrow", 8, "M0 .8 8 4 0 7.2z"),
                arrow("graph-arrow-back", 0, "M8 .8 0 4 8 7.2z"),
            ),
            this.ground,
            this.over,
        );
        this.element = h(
            "div.graph-frame",
            { "data-keep": "", "data-key": "graph", class: greedy ? "is-tall" : "" },
            this.svg,
            this.tools(),
            this.said,
        );
        this.view = new Viewport(this.svg, { greedy, moved: () => this.later() });
        this.svg.addEventListener("keydown", (event) => this.press(event));
        this.svg.addEventListener("click", (event) => this.click(event));
        this.svg.addEventListener("dblclick", (event) => this.open(this.under(event)));
        new ResizeObserver(() => this.resized()).observe(this.svg);
    }

    /** @param {import("./nodes.js").Picture} picture @param {{focus?: string | null}} [options] */
    show(picture, { focus } = {}) {
        const shape = JSON.stringify([
            picture.width,
            picture.height,
            picture.nodes.map((each) => each.id),
            picture.lines.map(({ added }) => added),
        ]);
        const is_new = shape !== this.shape;
        this.picture = picture;
        this.nodes = new Map(picture.nodes.map((each) => [each.id, each]));
        this.shape = shape;
        if (is_new) this.build();
        this.fill();
        if (is_new) {
            this.view.size = picture;
            this.element.style.setProperty("--graph-height", `${picture.height * 1.2 + 40}px`);
            this.was_fit = false;
            this.resized();
            if (focus) this.focus(focus, { centre: false });
        }
        this.later();
    }

    /** @param {string | null} id */
    focus(id, { centre = true } = {}) {
        const node = this.nodes?.get(id);
        this.at = node ? id : null;
        this.dress();
        this.later();
        if (!node) return;
        this.said.textContent = node.said;
        this.is_centred = centre;
        if (centre && this.was_fit) this.view.centre(node);
    }

    tools() {
        const tool = (name, words, call) =>
            h(
                "button.button.bare",
                { type: "button", "aria-label": words, title: words, on: { click: call } },
                icon(name),
            );
        return h(
            "div.graph-tools",
            { role: "group", "aria-label": "View" },
            tool("plus", "Zoom in", () => this.view.zoom(ZOOM)),
            tool("minus", "Zoom out", () => this.view.zoom(1 / ZOOM)),
            tool("fit", "Fit to window", () => this.view.fit()),
        );
    }

    build() {
        const { frames, lines, nodes } = this.picture;
        this.kin = kinship(lines);
        this.lines = lines.map((each) => ({ ...each, line: line(each) }));
        this.boxes = new Map(nodes.map((each) => [each.id, h("g.graph-node", { "data-id": each.id })]));
        this.ground.replaceChildren(
            h(
                "g",
                {},
                frames.map(({ x, y, width, height }) => h("rect.graph-frame-line", { x, y, width, height, rx: 8 })),
            ),
            h(
                "g",
                {},
                this.lines.map((each) => each.line),
            ),
            h("g", {}, [...this.boxes.values()]),
        );
    }

    /** Only changed boxes are redrawn. */
    fill() {
        for (const node of this.picture.nodes) {
            const group = this.boxes.get(node.id);
            const look = JSON.stringify(node);
            if (group.look === look) continue;
            group.look = look;
            group.setAttribute("transform", `translate(${node.x} ${node.y})`);
            group.replaceChildren(...box(node).filter(Boolean));
        }
        this.dress();
    }

    /** Highlight the focused node, with its upstream and downstream nodes. */
    dress() {
        const before = this.at ? this.kin.ancestors(this.at) : new Set();
        const after = this.at ? this.kin.descendants(this.at) : new Set();
        this.svg.classList.toggle("has-focus", this.at !== null);
        for (const node of this.picture?.nodes ?? []) {
            const kin =
                node.id === this.at
                    ? "is-focus"
                    : before.has(node.id)
                      ? "is-before"
                      : after.has(node.id)
                        ? "is-after"
                        : "";
            this.boxes
                .get(node.id)
                .setAttribute("class", ["graph-node", node.state && `is-${node.state}`, kin].filter(Boolean).join(" "));
        }
        const leads = (set, { parents, children }) =>
            [parents, children].every((ends) => ends.some((id) => set.has(id) || id === this.at));
        for (const each of this.lines)
            each.line.classList.toggle("is-kin", this.at !== null && (leads(before, each) || leads(after, each)));
    }

    later() {
        if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
    }

    paint() {
        this.frame = 0;
        const { view } = this;
        this.ground.setAttribute("transform", view.transform);
        this.svg.classList.toggle("is-far", view.scale < READABLE);
        this.svg.classList.toggle("is-near", view.scale >= NEAR);
        this.over.replaceChildren(...(view.scale < READABLE && this.picture ? names(this.ranked(), view) : []));
    }

    /** Order of names: failures, running work, nodes that many need. With a focus: its neighbours. */
    ranked() {
        const { at, kin } = this;
        const near = at === null ? null : new Set([at, ...kin.ancestors(at), ...kin.descendants(at)]);
        const weight = ({ id, state }) =>
            (id === at ? 1e6 : 0) + (BAD.has(state) ? 1e4 : 0) + (state === "running" ? 1e3 : 0) + kin.degree(id);
        return this.picture.nodes.filter(({ id }) => near?.has(id) ?? true).sort((a, b) => weight(b) - weight(a));
    }

    resized() {
        if (!this.picture || !this.svg.clientWidth) return;
        if (this.was_fit) {
            this.view.adapt();
            return;
        }
        this.was_fit = true;
        this.view.fit();
        if (this.at && this.is_centred) this.view.centre(this.nodes.get(this.at));
    }

    press(event) {
        const { key, shiftKey } = event;
        const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (arrow && shiftKey) this.view.pan(arrow[0] * STEP_PX, arrow[1] * STEP_PX);
        else if (arrow) this.walk(key);
        else if (key === "+" || key === "=") this.view.zoom(ZOOM);
        else if (key === "-") this.view.zoom(1 / ZOOM);
        else if (key === "0") this.view.fit();
        else if (key === "Enter") this.open(this.at);
        else if (key === "Escape" && this.at) this.choose(null);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** Left: needed nodes. Right: nodes that need this one. Up and down: neighbours. */
    walk(key) {
        const here = this.nodes.get(this.at);
        if (!here) return this.choose(this.picture.nodes[0]?.id ?? null);
        const named =
            key === "ArrowLeft" ? this.kin.parents(here.id) : key === "ArrowRight" ? this.kin.children(here.id) : null;
        const side = key === "ArrowUp" ? -1 : 1;
        const among =
            named?.map((id) => this.nodes.get(id)) ?? this.picture.nodes.filter((each) => (each.y - here.y) * side > 1);
        const far = (each) => Math.abs(each.y - here.y) + (named ? 0 : 3 * Math.abs(each.x - here.x));
        const next = among.filter(Boolean).sort((a, b) => far(a) - far(b))[0];
        return next && this.choose(next.id);
    }

    click(event) {
        if (!this.view.was_dragged) this.choose(this.under(event));
    }

    choose(id) {
        this.focus(id, { centre: false });
        if (this.at) this.view.reveal(this.nodes.get(this.at));
        this.focused(this.at);
    }

    open(id) {
        if (this.nodes.has(id)) this.chosen(this.nodes.get(id));
    }

    under(event) {
        return event.target.closest?.("[data-id]")?.dataset.id ?? null;
    }
}

/** The arrow is at the end of the nodes that need the others. */
function line({ path, label, label_x, label_y, back, added }) {
    const end = back ? "marker-start" : "marker-end";
    return h(
        `g.graph-way${added ? ".is-added" : ""}`,
        {},
        added && h("title", {}, "added at run time"),
        h("path.graph-line", { d: path, [end]: `url(#graph-arrow${back ? "-back" : ""})` }),
        label && h("text.graph-label", { x: label_x, y: label_y + 4 }, label),
    );
}

function arrow(id, refX, d) {
    const size = {
        viewBox: "0 0 8 8",
        refX,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
    };
    return h("marker", { id, ...size }, h("path.graph-tip", { d }));
}
