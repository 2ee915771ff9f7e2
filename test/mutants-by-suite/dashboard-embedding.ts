import { type Mutant, patch } from './mutant.js';

const OPTIONS = 'dashboard/options.ts';
const HANDLER = 'dashboard/handler.ts';
const FILES = 'dashboard/page-files.ts';
const DATABASE = 'dashboard/dashboard-database.ts';
const options = ['unit/dashboard/options'];
const embedding = ['integration/dashboard/embedding'];

/** Ways for the dashboard to open itself, or to stand where its host does not want it. */
export const DASHBOARD_EMBEDDING: Readonly<Record<string, Mutant>> = {
  'believes-any-host': {
    about: 'takes a request for another host for one of this machine',
    patches: [patch(OPTIONS, "LOOPBACK_HOST.test(headers.host ?? '')", 'true')],
    tests: options,
  },
  'takes-a-proxy-for-this-machine': {
    about: 'takes what a proxy forwards for a request of this machine',
    patches: [patch(OPTIONS, 'isLocal && !isForwarded ? grant', 'isLocal ? grant')],
    tests: options,
  },
  'opens-in-production': {
    about: "takes 'loopback' in production",
    patches: [patch(OPTIONS, "process.env['NODE_ENV'] === 'production'", 'false')],
    tests: options,
  },
  'takes-an-empty-list-for-all': {
    about: 'shows all names to a viewer of none',
    patches: [
      patch(
        'dashboard/rights.ts',
        'if (given === undefined) return null;',
        "if (!given?.['length']) return null;",
      ),
    ],
    tests: options,
  },
  'shows-its-page-to-all': {
    about: 'sends the page to viewers who are refused',
    patches: [
      patch(
        HANDLER,
        'if (rights === undefined) throw notFound();',
        "if (rights === undefined && rest.startsWith('/api/')) throw notFound();",
      ),
    ],
    tests: embedding,
  },
  'stands-anywhere': {
    about: 'answers below any path that ends with its own',
    patches: [patch(HANDLER, '`^${escaped}', '`^.*${escaped}')],
    tests: embedding,
  },
  'leaves-out-the-global-prefix': {
    about: 'stands beside the global prefix',
    patches: [
      patch('dashboard/path.ts', "prefix === '' || isExcluded ?", "prefix === '' || !isExcluded ?"),
    ],
    tests: embedding,
  },
  'leads-to-a-path-of-its-own': {
    about: 'leads to the path that a proxy may have taken away',
    patches: [patch(HANDLER, "`${path.split('/').at(-1)}/${rest}`", '`/${path}/${rest}`')],
    tests: embedding,
  },
  'never-says-unchanged': {
    about: 'sends a file that the browser has',
    patches: [patch(FILES, "headers['if-none-match']?.includes(file.etag) === true", 'false')],
    tests: embedding,
  },
  'forgets-what-a-proxy-packed': {
    about: 'sends a file that the browser has by a name that a proxy made weak',
    patches: [patch(FILES, '?.includes(file.etag) === true', ' === file.etag')],
    tests: embedding,
  },
  'has-any-number-wait': {
    about: 'has any number of requests wait for its connections',
    patches: [patch(DATABASE, 'this.#atOnce >= AT_ONCE_MAX', 'false')],
    tests: embedding,
  },
  'connects-at-the-start': {
    about: 'opens its connections before anyone looks',
    patches: [
      patch(
        DATABASE,
        'this.#admin = new DelayAdmin(',
        'void this.#dataSource.initialize();\n    this.#admin = new DelayAdmin(',
      ),
    ],
    tests: embedding,
  },
};
