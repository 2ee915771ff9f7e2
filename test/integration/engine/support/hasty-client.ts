import { Client, type ClientConfig, type QueryResult } from 'pg';
import { SETTINGS_SQL } from '../../../../src/delay-queue/database/session-settings.js';

const tenthOf = (ms: number | undefined) => (ms === undefined ? ms : ms / 10);

/** A client with a tenth of each limit that the engine gives it: its own, and that of the server. */
export class HastyClient extends Client {
  constructor({ query_timeout, connectionTimeoutMillis, ...config }: ClientConfig) {
    super({
      ...config,
      query_timeout: tenthOf(query_timeout),
      connectionTimeoutMillis: tenthOf(connectionTimeoutMillis),
    });
    const query = this.query.bind(this) as (...given: unknown[]) => Promise<QueryResult>;
    this.query = ((sql: unknown, values: unknown, ...rest: unknown[]) => {
      if (sql !== SETTINGS_SQL) return query(sql, values, ...rest);
      const [names, settings] = values as [string[], string[]];
      const limit = names.indexOf('statement_timeout');
      return query(sql, [names, settings.with(limit, String(Number(settings[limit]) / 10))]);
    }) as Client['query'];
  }
}
