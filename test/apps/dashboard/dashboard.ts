import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { DelayEvents } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { AppModule } from './app.module';
import { OrderTimers } from './order-timers';
import { serve } from './served';

/** With a name in it, the application stays, for who wants to look at the page. */
const STAYS = 'DASHBOARD_STAYS';

let isOpen = false;

@Module({
  imports: [
    AppModule,
    DelayQueueDashboardModule.forRoot({
      environment: 'staging',
      authorize: ({ headers }) =>
        headers.authorization === 'Bearer anna' || isOpen ? { who: 'anna', actions: 'all' } : null,
    }),
  ],
})
class DashboardAppModule {}

const asAnna = { authorization: 'Bearer anna' };

/** @throws Error unless it is answered with that status */
async function ask(url: string, status: number, options: RequestInit = {}): Promise<string> {
  const response = await fetch(url, options);
  const text = await response.text();
  if (response.status === status) return text;
  throw new Error(`${url}: ${response.status} instead of ${status}: ${text}`);
}

async function look(): Promise<void> {
  const { app, url } = await serve(DashboardAppModule);
  const closed = new Promise((resolve) => app.get(DelayEvents).once('completed', resolve));
  await app.get(OrderTimers).place(`from ${process.argv[1]}`);
  await closed;

  // Without the slash it leads to the page, whose files stand beside it.
  const page = await ask(url, 200, { headers: asAnna });
  const file = /src="(page\.js)"/.exec(page)?.[1] ?? 'no script';
  await ask(`${url}/${file}`, 200, { headers: asAnna });
  for (const path of ['', '/', `/${file}`, '/api/session']) await ask(url + path, 404);
  const session = JSON.parse(await ask(`${url}/api/session`, 200, { headers: asAnna }));
  if (session.who !== 'anna') throw new Error(`the viewer is ${session.who}`);

  const change = {
    'x-delay-queue-dashboard': '1',
    'content-type': 'application/vnd.delay-queue+json',
  };
  const order = { action: 'pause', name: 'order.close', why: 'a try' };
  const body = JSON.stringify(order);
  const forged = { ...asAnna, ...change, 'sec-fetch-site': 'cross-site' };
  await ask(`${url}/api/operations`, 403, { method: 'POST', headers: forged, body });
  const own = { ...asAnna, ...change, 'sec-fetch-site': 'same-origin' };
  await ask(`${url}/api/operations`, 200, { method: 'POST', headers: own, body });
  const { pauses } = JSON.parse(await ask(`${url}/api/overview`, 200, { headers: asAnna }));
  if (pauses[0]?.by !== 'anna') throw new Error('the name is not paused');
  await ask(`${url}/api/operations`, 200, {
    method: 'POST',
    headers: own,
    body: JSON.stringify({ action: 'resume', name: 'order.close' }),
  });

  if (process.env[STAYS]) {
    isOpen = true;
    console.log(url);
    await new Promise((resolve) => process.once('SIGTERM', resolve));
  }
  await app.close();
}

look().then(
  // A proxy before it may keep connections.
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
