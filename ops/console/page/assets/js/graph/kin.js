// Upstream and downstream nodes of each node.

/** @param {import("./nodes.js").Line[]} lines */
export function kinship(lines) {
    const above = new Map();
    const below = new Map();
    for (const { parents, children } of lines)
        for (const parent of parents)
            for (const child of children) {
                put(above, child, parent);
                put(below, parent, child);
            }
    return {
        parents: (id) => above.get(id) ?? [],
        children: (id) => below.get(id) ?? [],
        ancestors: (id) => reached(above, id),
        descendants: (id) => reached(below, id),
        degree: (id) => (above.get(id)?.length ?? 0) + (below.get(id)?.length ?? 0),
    };
}

function put(map, key, value) {
    if (map.has(key)) map.get(key).push(value);
    else map.set(key, [value]);
}

function reached(map, from) {
    const found = new Set();
    const open = [...(map.get(from) ?? [])];
    while (open.length) {
        const next = open.pop();
        if (found.has(next)) continue;
        found.add(next);
        open.push(...(map.get(next) ?? []));
    }
    return found;
}
