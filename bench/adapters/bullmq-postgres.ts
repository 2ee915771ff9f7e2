import { load } from '../peers/load.js';
import { connect } from '../server/bench-server.js';
import {
  BULLMQ,
  BULLMQ_HANDLERS,
  type BullStore,
  fill,
  left,
  openProducer,
  openWorker,
} from './bullmq.js';
import type { BullMQ } from './bullmq.surface.js';
import { missingPackages, named, type PeerAdapter } from './peer.js';

const CONCURRENCY = 10;
const POOL_MAX = 10;

const storeAt = (url: string): BullStore => ({
  connection: { connectionString: url, max: POOL_MAX },
  backend: ({ createPostgresBackend }) => createPostgresBackend,
});

export const BULLMQ_POSTGRES: PeerAdapter = {
  name: 'BullMQ Postgres',
  get settings() {
    return (
      `BullMQ Postgres: ${named(BULLMQ)} on its Postgres backend, ` +
      `concurrency ${CONCURRENCY}, pool ${POOL_MAX}, removeOnComplete`
    );
  },
  missing: () => missingPackages(BULLMQ, 'pg'),
  async prepare(url) {
    const { runMigrations } = await load<BullMQ>(BULLMQ);
    const client = await connect(url);
    try {
      await runMigrations(client);
    } finally {
      await client.end();
    }
  },
  fill: (url, batch) => fill(storeAt(url), batch),
  handlers: BULLMQ_HANDLERS,
  openWorker: (url, running, hears) => openWorker(storeAt(url), CONCURRENCY, url, running, hears),
  openProducer: (url) => openProducer(storeAt(url)),
  left: (url) => left(storeAt(url)),
};
