import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  title: string;
  /** Of its cells and its heading. */
  class?: string;
  /** Of a cell alone. */
  tone?: (row: Row) => string;
  /** Shown beside the cell where a row is a card. */
  isLabelled?: true;
  cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  class: string;
  caption: string;
  /** The first one has what names the row. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

/** One row for each. Keys lead from row to row. */
export function Table<Row>({ caption, columns, rows, keyOf, ...its }: TableProps<Row>) {
  return (
    <table {...its}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, ...column }) => (
            <th key={title} scope="col" class={column.class}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} data-row>
            {columns.map(({ title, cell, tone, isLabelled, ...column }, at) =>
              at === 0 ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td
                  key={title}
                  class={column.class ?? tone?.(row)}
                  data-label={isLabelled && title}
                >
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
