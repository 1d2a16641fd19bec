// The grid of partitions: a row for each table, a column for each period, a sign for each cell.

/**
 * @typedef {object} Grid
 * @property {string[]} columns @property {string | null} unit @property {number} size
 * @property {{app: string | null, table: string, unit: string, cells: string, day: string | null}[]} rows
 *   `day`: the row has the days of an app, by this identifier of its keys
 * @property {Record<string, string>} legend @property {Record<string, number>} jobs
 */

/** Sign of a cell with a partition that exists and is stale. */
export const STALE = "~";

/** Return the state of a sign; null for a partly complete, a stale and a never requested cell. */
export function stateOf(grid, sign) {
    return ["-", "=", STALE].includes(sign) ? null : grid.legend[sign];
}

/** @returns {{row: any, column: string, sign: string, said: string} | null} */
export function cellAt(grid, x, y) {
    const row = grid.rows[y];
    const column = grid.columns[x];
    if (!row || column === undefined) return null;
    const sign = row.cells[x] ?? "-";
    return { row, column, sign, said: `${row.table}, ${column}: ${(grid.legend[sign] ?? "").replaceAll("_", " ")}` };
}

/** Return the columns at which a month, year or day begins. @returns {{at: number, words: string}[]} */
export function marks(grid) {
    const found = [];
    grid.columns.forEach((column, at) => {
        const words = column.slice(0, column.lastIndexOf("-"));
        if (found.at(-1)?.words !== words) found.push({ at, words });
    });
    return found;
}

/** Return the heading of one column: the last part of its partition, for example the day of the month. */
export function tick(column) {
    return column.slice(column.lastIndexOf("-") + 1);
}

/** Return whether the column begins a week: a thin line precedes it. */
export function isFirstOfWeek(grid, column) {
    return grid.unit === "day" && new Date(`${column}T00:00:00Z`).getUTCDay() === 1;
}
