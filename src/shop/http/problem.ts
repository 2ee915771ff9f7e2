import { z } from 'zod';

/** What every error answers. */
export const problem = z
  .object({
    statusCode: z.int(),
    error: z.string().optional(),
    message: z
      .union([z.string(), z.array(z.string())])
      .meta({ description: 'For 400 a list, each line led by the field it is about' }),
    sku: z.string().optional().meta({ description: 'What is out of stock' }),
  })
  .meta({ id: 'Problem' });
