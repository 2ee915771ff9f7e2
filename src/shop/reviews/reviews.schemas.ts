import { z } from 'zod';

export const reviewOrder = z.strictObject({ stars: z.int().min(1).max(5).meta({ example: 4 }) });
export type ReviewOrderRequest = z.infer<typeof reviewOrder>;
