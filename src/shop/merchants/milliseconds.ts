import type { ColumnOptions } from 'typeorm';

/** The driver answers a bigint as a text; ten years in milliseconds are a number like any other. */
export const milliseconds: ColumnOptions = {
  type: 'bigint',
  transformer: {
    from: (value: string | null) => (value === null ? null : Number(value)),
    to: (value: number | null) => value,
  },
};

export const millisecondsOrNull: ColumnOptions = { ...milliseconds, nullable: true };
