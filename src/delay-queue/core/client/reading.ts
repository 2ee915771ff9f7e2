import type { DataSource } from 'typeorm';
import { DelayEvents } from '../api/events.js';
import type { ResolvedOptions } from '../config/options.js';
import { AfterCommit } from '../transactions/commit-hooks.js';
import { type ClientEngine, DelayClient } from './delay-client.js';

/** A client for reads alone. It starts nothing, and needs neither a primary nor the right to write. */
export const readingClient = (dataSource: DataSource, options: ResolvedOptions): DelayClient =>
  new DelayClient(dataSource, unstarted(dataSource), options, new DelayEvents());

/** There is no engine to tell of writes. */
const unstarted = (dataSource: DataSource): ClientEngine => ({
  afterCommit: new AfterCommit(dataSource),
  callers: undefined,
  hintInside: () => undefined,
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
