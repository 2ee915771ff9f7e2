import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../servers/support/programs.js';

/** Debian's folder of the Postgres whose `postgres`, `initdb` and `pg_rewind` Patroni calls. */
const POSTGRES_FOLDERS = ['18', '17', '16', '15', '14'].map(
  (version) => `/usr/lib/postgresql/${version}/bin`,
);

export interface Programs {
  patroni: string;
  etcd: string;
  haproxy: string;
  postgresFolder: string;
}

/** Where they are, or which of them are missing. */
export function findPrograms(): Programs | { missing: string[] } {
  const found = {
    patroni: findProgram('patroni'),
    etcd: findProgram('etcd'),
    haproxy: findProgram('haproxy'),
    postgresFolder: POSTGRES_FOLDERS.find((folder) => existsSync(join(folder, 'pg_rewind'))),
  };
  const missing = Object.entries(found).flatMap(([name, path]) => (path ? [] : [name]));
  return missing.length > 0 ? { missing } : (found as Programs);
}
