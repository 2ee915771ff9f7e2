/** A node of `rate-limit`: writes down when each attempt began, by the database's clock. It is killed at the end. */
import { type Delay, OnDelay } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { compile } from '../adapters/ours.js';

const [url = '', max = ''] = process.argv.slice(2);

const LEASE = '1m';

/** An attempt begins with its claim, which is as old as its lease. */
const NOTE = `
  INSERT INTO bench_began (node, began_ms)
  SELECT $2::int, extract(epoch FROM leased_until - $3::interval) * 1000
  FROM delay_queue.delay WHERE id = $1::bigint`;

/** Set when the application is there: nothing runs before. */
let dataSource: DataSource;

class Handler {
  @OnDelay('bench.run', {
    concurrency: 50,
    global: { rateLimit: { max: Number(max), per: '1s' } },
  })
  async run({ id }: Delay<'bench.run'>): Promise<void> {
    await dataSource.query(NOTE, [id, process.pid, LEASE]);
  }
}

process.once('disconnect', () => process.exit(1));
const app = await compile(url, { lease: LEASE }, [Handler]);
dataSource = app.get(DataSource);
await app.init();
process.send?.('started');
