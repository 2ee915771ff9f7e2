import { z } from 'zod';

export const startedRace = z.object({
  orderId: z.string(),
  payDeadline: z.string().meta({ format: 'date-time' }),
});
export type StartedRace = z.infer<typeof startedRace>;
