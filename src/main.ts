import { Lifetime } from './processes/lifetime.js';

const prod = process.argv.includes('--prod');
if (process.argv.includes('--verbose')) process.env.LOG_LEVEL ??= 'log';

const lifetime = new Lifetime();
await lifetime.live(async () => {
  // Imports only one: the supervisor starts much faster without the application that it supervises.
  if (prod) await (await import('./processes/single-shop.js')).runShop(lifetime);
  else await (await import('./processes/supervised-shop.js')).superviseShop(lifetime);
});
