import { z } from 'zod';

const REASON_MAX = 500;

export const openDispute = z.strictObject({
  reason: z
    .string()
    .trim()
    .regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${REASON_MAX}}$`, 'u'), {
      error: `must be 1 to ${REASON_MAX} characters in one line`,
    })
    .meta({ example: 'The pot arrived broken' }),
});
export type OpenDispute = z.infer<typeof openDispute>;
