import { z } from 'zod';

export const processList = z.array(
  z.object({
    name: z.string().meta({ example: 'shop-1' }),
    pid: z.int().nullable().meta({ description: '`null` while it is dead' }),
    state: z.enum(['up', 'dead', 'starting']),
    since: z.string().meta({ format: 'date-time' }),
  }),
);
