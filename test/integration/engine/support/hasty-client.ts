import { Client, type ClientConfig, type QueryResult } from 'pg';
import { SETTINGS_SQL } from '../../../../src/delay-queue/core/database/connection-config.js';

const part = (ms: number | undefined, of: number) => (ms === undefined ? ms : ms / of);

/**
 * A client with a tenth of each limit that the engine gives a statement: its own, and that of the server. To connect it has
 * half: a node whose first connection takes longer does not start.
 */
export class HastyClient extends Client {
  constructor({ query_timeout, connectionTimeoutMillis, ...config }: ClientConfig) {
    super({
      ...config,
      query_timeout: part(query_timeout, 10),
      connectionTimeoutMillis: part(connectionTimeoutMillis, 2),
    });
    const query = this.query.bind(this) as (...given: unknown[]) => Promise<QueryResult>;
    this.query = ((sql: unknown, values: unknown, ...rest: unknown[]) => {
      if (sql !== SETTINGS_SQL) return query(sql, values, ...rest);
      const [names, settings, ...others] = values as [string[], string[], ...unknown[]];
      const limit = names.indexOf('statement_timeout');
      if (limit === -1) return query(sql, values, ...rest);
      const hasty = settings.with(limit, String(Number(settings[limit]) / 10));
      return query(sql, [names, hasty, ...others]);
    }) as Client['query'];
  }
}
