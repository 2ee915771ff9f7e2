import type { ColumnOptions } from 'typeorm';

/** The driver returns a bigint as text, but ten years in milliseconds fit a number. */
export const milliseconds: ColumnOptions = {
  type: 'bigint',
  transformer: {
    from: (value: string | null) => (value === null ? null : Number(value)),
    to: (value: number | null) => value,
  },
};

export const millisecondsOrNull: ColumnOptions = { ...milliseconds, nullable: true };
