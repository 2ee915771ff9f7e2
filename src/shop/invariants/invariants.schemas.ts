import { z } from 'zod';

const check = z.object({
  name: z.string(),
  ok: z.boolean(),
  detail: z.string().meta({ example: '1,204 orders, none broken' }),
});
export type Check = z.infer<typeof check>;

export const invariants = z.object({ ok: z.boolean(), checks: z.array(check) });
export type Invariants = z.infer<typeof invariants>;
