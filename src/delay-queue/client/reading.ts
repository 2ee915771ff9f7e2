import type { DataSource } from 'typeorm';
import type { ResolvedOptions } from '../config/options.js';
import { AfterCommit } from '../transactions/commit-hooks.js';
import { Producer, type ProducersEngine } from './producer.js';

/** A producer for reads alone. It starts nothing, and needs neither a primary nor the right to write. */
export const readingProducer = (dataSource: DataSource, options: ResolvedOptions): Producer =>
  new Producer(dataSource, unstarted(dataSource), options);

/** There is no engine to tell of writes. */
const unstarted = (dataSource: DataSource): ProducersEngine => ({
  afterCommit: new AfterCommit(dataSource),
  callers: undefined,
  handlersPids: [],
  held: () => undefined,
  abort: async () => {},
  announce: () => {},
  disarm: () => {},
  pausesChanged: () => {},
  rerunAsked: () => {},
  scheduled: () => {},
  usesZone: () => {},
});
