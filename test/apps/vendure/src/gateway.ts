import { appendFile } from 'node:fs/promises';

/** Whatever takes the money, outside of any transaction. @returns its number */
export async function charge(orderCode: string, amount: number): Promise<string> {
  await appendFile(process.env.CHARGES ?? 'charges.txt', `${orderCode} ${amount}\n`);
  return `charge of ${orderCode}`;
}
