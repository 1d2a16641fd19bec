// Visible part and scale of a picture, changed by wheel, touch and drag.

const SCALE = [0.04, 4];
const MARGIN = 24;
const WHEEL = 0.0016;
const DRAGGED_PX = 4;

export class Viewport {
    /** @param {SVGElement} svg @param {{greedy: boolean, moved: () => void}} options greedy: takes all wheel events */
    constructor(svg, { greedy, moved }) {
        Object.assign(this, { svg, greedy, moved, x: 0, y: 0, scale: 1, size: { width: 0, height: 0 } });
        this.fingers = new Map();
        this.was_dragged = false;
        svg.addEventListener("wheel", (event) => this.turn(event), { passive: false });
        svg.addEventListener("pointerdown", (event) => this.press(event));
        svg.addEventListener("pointermove", (event) => this.drag(event));
        for (const kind of ["pointerup", "pointercancel"])
            svg.addEventListener(kind, (event) => this.fingers.delete(event.pointerId));
    }

    get width() {
        return this.svg.clientWidth || 1;
    }

    get height() {
        return this.svg.clientHeight || 1;
    }

    get transform() {
        return `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`;
    }

    /** Show the whole picture, but not enlarged. */
    fit() {
        const { width, height } = this.size;
        const all = Math.min((this.width - 2 * MARGIN) / width, (this.height - 2 * MARGIN) / height);
        this.scale = Math.min(Math.max(all, SCALE[0]), 1.25);
        this.x = (this.width - width * this.scale) / 2;
        this.y = (this.height - height * this.scale) / 2;
        this.fitted = this.transform;
        this.keep();
        this.moved();
    }

    /** Adapt to a changed window: keep the whole picture if it was never moved, else keep the centre. */
    adapt() {
        if (this.transform === this.fitted) return this.fit();
        const { width, height } = this.seen;
        this.keep();
        return this.pan((this.width - width) / 2, (this.height - height) / 2);
    }

    keep() {
        this.seen = { width: this.width, height: this.height };
    }

    /** @param {{x: number, y: number, width: number, height: number}} box shown in the middle, at a readable scale */
    centre(box, scale = Math.max(this.scale, 1)) {
        this.scale = scale;
        this.x = this.width / 2 - (box.x + box.width / 2) * scale;
        this.y = this.height / 2 - (box.y + box.height / 2) * scale;
        this.moved();
    }

    /** Move as little as needed to make the box visible. */
    reveal(box) {
        const edge = (from, to, at, size) => Math.min(Math.max(at, MARGIN - from), size - MARGIN - to);
        this.x = edge(box.x * this.scale, (box.x + box.width) * this.scale, this.x, this.width);
        this.y = edge(box.y * this.scale, (box.y + box.height) * this.scale, this.y, this.height);
        this.moved();
    }

    zoom(by, at = { x: this.width / 2, y: this.height / 2 }) {
        const scale = Math.min(Math.max(this.scale * by, SCALE[0]), SCALE[1]);
        this.x = at.x - ((at.x - this.x) * scale) / this.scale;
        this.y = at.y - ((at.y - this.y) * scale) / this.scale;
        this.scale = scale;
        this.moved();
    }

    pan(dx, dy) {
        this.x += dx;
        this.y += dy;
        this.moved();
    }

    turn(event) {
        if (!this.greedy && !event.ctrlKey && !this.svg.contains(document.activeElement)) return;
        event.preventDefault();
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
        const pinch = event.ctrlKey ? 4 : 1;
        this.zoom(Math.exp(-event.deltaY * lines * WHEEL * pinch), this.point(event));
    }

    press(event) {
        if (event.button !== 0) return;
        this.fingers.set(event.pointerId, this.point(event));
        this.pressed = this.point(event);
        this.was_dragged = false;
    }

    drag(event) {
        const before = this.fingers.get(event.pointerId);
        if (!before) return;
        const here = this.point(event);
        if (Math.hypot(here.x - this.pressed.x, here.y - this.pressed.y) > DRAGGED_PX && !this.was_dragged) {
            this.was_dragged = true;
            this.svg.setPointerCapture(event.pointerId);
        }
        const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        this.fingers.set(event.pointerId, here);
        if (!other) return this.pan(here.x - before.x, here.y - before.y);
        const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
        this.zoom(apart(here) / apart(before), { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 });
        return this.pan((here.x - before.x) / 2, (here.y - before.y) / 2);
    }

    point(event) {
        const box = this.svg.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }
}
