import { Client } from 'pg';

/** As `pg` is given it: a text, or an object with one. */
type Asked = string | { text: string };

/** A class of clients for the DataSource of one node, which tells of each statement that they send. */
export const clientTelling = (
  told: (text: string, client: Client, all: readonly unknown[]) => void,
): typeof Client =>
  class TellingClient extends Client {
    override query(...all: unknown[]): never {
      const asked = all[0] as Asked;
      told(typeof asked === 'string' ? asked : asked.text, this, all);
      const query: (...given: unknown[]) => unknown = super.query.bind(this);
      return query(...all) as never;
    }
  };
