import { z } from 'zod';

export const cents = z.int().meta({ description: 'Money in integer cents', example: 1250 });

export const skuList = z.array(
  z.object({
    sku: z.string().meta({ example: 'CUP-WHITE' }),
    name: z.string(),
    price: cents,
    stock: z.int(),
  }),
);
export type SkuList = z.infer<typeof skuList>;
