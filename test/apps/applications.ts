/** An application that takes the package as anybody does. Its folder is beside this file. */
export interface Application {
  name: string;
  what: string;
  /** Also in `npm run ci`: one of each module system. */
  inGate?: true;
  /** It has sources of its own and none of `shop`. */
  isComplete?: boolean;
  /** It also serves the dashboard, in its own way: `served.ts`. */
  hasDashboard?: boolean;
  /** Default `npm install`. */
  install?: string[];
  /** Scripts of its `package.json`, in this order; none: what getting started says under that heading. */
  scripts: string[] | { heading: string };
}

export const APPLICATIONS: Application[] = [
  {
    name: 'nest11-commonjs',
    what: 'Nest 11, CommonJS, TypeORM 0.3, ts-jest as it comes, types without @types/pg',
    inGate: true,
    hasDashboard: true,
    scripts: ['build', 'types', 'start', 'dashboard', 'status', 'one-copy', 'test'],
  },
  {
    name: 'readme',
    what: 'what getting started says, from an empty folder to a delay that fires',
    scripts: { heading: 'The first delay' },
  },
  {
    name: 'nest12-esm',
    what: 'Nest 12, ES modules, TypeORM 1, Vitest',
    inGate: true,
    hasDashboard: true,
    scripts: ['build', 'start', 'dashboard', 'status', 'one-copy', 'test'],
  },
  {
    name: 'nest12-jest-esm',
    what: 'Nest 12, ES modules, TypeORM 1, Jest with ES modules',
    scripts: ['build', 'start', 'test'],
  },
  {
    name: 'nest10-jest29',
    what: 'Nest 10, CommonJS, TypeORM 0.3.20, Jest 29, TypeScript 5.1, no declared names',
    hasDashboard: true,
    scripts: ['build', 'types', 'start', 'dashboard', 'test'],
  },
  {
    name: 'bundles',
    what: 'Nest 12 and all else in minified bundles of esbuild and rolldown, without node_modules',
    hasDashboard: true,
    scripts: ['build', 'start', 'dashboard', 'error-names', 'test'],
  },
  {
    name: 'pnpm-strict',
    what: "Nest 12 in pnpm's strict node_modules",
    install: ['npx', '--yes', 'pnpm@10.34.8', 'install', '--prefer-offline'],
    scripts: ['build', 'start', 'status', 'test'],
  },
  {
    name: 'without-typeorm',
    what: 'Nest 12 and pg, a connection and no TypeORM',
    inGate: true,
    isComplete: true,
    scripts: ['build', 'migrate', 'start', 'status'],
  },
  {
    name: 'two-typeorms',
    what: 'a monorepo with two copies of TypeORM: refused, with a clear error',
    isComplete: true,
    scripts: ['start'],
  },
  {
    name: 'vendure',
    what: 'Vendure 3.7, server and worker: 50 payments against closes, a kill, exact stock',
    isComplete: true,
    scripts: ['build', 'start'],
  },
];
