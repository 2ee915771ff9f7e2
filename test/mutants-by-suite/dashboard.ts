import { type Mutant, patch } from './mutant.js';

const FILTER = 'dashboard/search-filter.ts';
const SEARCH = 'dashboard/search.ts';
const OVERVIEW = 'dashboard/overview.ts';
const DELAY = 'dashboard/delay-view.ts';
const LIVE = 'dashboard/live.ts';
const scope = ['integration/dashboard/scope.properties'];
const plans = ['integration/dashboard/plans'];
const payloads = ['integration/dashboard/payloads'];
const live = ['integration/dashboard/live'];

/** Ways to show a viewer too much, or too little, or to read too much for it. */
export const DASHBOARD_READS: Readonly<Record<string, Mutant>> = {
  'finds-any-name': {
    about: 'finds delays of names that the viewer may not see',
    patches: [patch(FILTER, 'allowed(asked.name, names)', 'allowed(asked.name, null)')],
    tests: scope,
  },
  'finds-any-group': {
    about: 'finds delays of groups that the viewer may not see',
    patches: [patch(FILTER, 'allowed(asked.group, groups)', 'allowed(asked.group, null)')],
    tests: scope,
  },
  'counts-any-group': {
    about: 'counts delays of groups that the viewer may not see',
    patches: [patch(OVERVIEW, '...(groups && { group: groups }),', '')],
    tests: scope,
  },
  'shows-any-delay': {
    about: 'shows a live delay that the viewer may not see',
    patches: [patch(DELAY, 'if (!rights.sees(row)) throw notFound();', '')],
    tests: scope,
  },
  'tells-any-story': {
    about: 'tells the whole story of a key to a viewer of some groups',
    patches: [patch('dashboard/story.ts', '...(groups && { group: groups }),', '')],
    tests: ['integration/dashboard/overview'],
  },
  'shows-any-payload': {
    about: 'shows payloads without the right to them',
    patches: [patch(DELAY, "rights.may('viewPayloads')", 'true')],
    tests: ['integration/dashboard/overview'],
  },
  'shows-what-the-hook-takes-out': {
    about: 'shows payloads as they are, whatever the hook makes of them',
    patches: [patch(DELAY, 'if (this.redact === undefined)', 'if (payloads)')],
    tests: payloads,
  },
  'rounds-large-numbers': {
    about: 'shows numbers of a payload as JavaScript has them',
    patches: [
      patch(
        'core/config/payloads.ts',
        'encodedIn(text) === undefined ? text : JSON.stringify(value)',
        'JSON.stringify(value)',
      ),
    ],
    tests: ['integration/dashboard/overview'],
  },
  'selects-errors-that-contain-it': {
    about: 'selects with dead letters that failed alike those whose error only contains theirs',
    patches: [
      patch(
        'dashboard/search.table.ts',
        '\n  errorLine,\n',
        '\n  error: errorLine.slice(0, 10),\n',
      ),
    ],
    tests: ['integration/dashboard/overview'],
  },
  'groups-errors-by-their-numbers': {
    about: 'takes errors that differ by an id for errors of different kinds',
    patches: [
      patch(
        'core/store/sql/fragments/state-and-error.ts',
        'const kind = VOLATILE.reduce(',
        'const kind = [].reduce<string>(',
      ),
    ],
    tests: ['integration/dashboard/told'],
  },
  'ages-without-a-row': {
    about: 'takes the age of no row for that of the year 1',
    patches: [
      patch(
        'core/database/tables.ts',
        '`${now} - CASE WHEN ${instant} IS NOT NULL THEN',
        '`${now} - CASE WHEN true THEN',
      ),
    ],
    tests: ['integration/dashboard/told'],
  },
  'all-is-well': {
    about: 'lets the headline deny what stands below it',
    patches: [patch(OVERVIEW, 'notes: notes.filter(isNew)', 'notes: notes.filter(() => false)')],
    tests: ['integration/dashboard/told'],
  },
  'ends-where-it-stopped': {
    about: 'calls a page the last one that stopped before the end of the table',
    patches: [patch(SEARCH, 'if (end !== undefined) {', "if (end === 'never') {")],
    tests: plans,
  },
  'calls-a-part-exact': {
    about: 'calls the count of a page that stopped exact',
    patches: [patch(SEARCH, "is: next === null ? 'exact' : 'atLeast' }", "is: 'exact' }")],
    tests: plans,
  },
  'sorts-the-table': {
    about: 'reads and sorts all delays for a page of them',
    patches: [
      patch(
        'dashboard/store/search.sql.ts',
        `within: "d.wake_at >= '-infinity'"`,
        `within: 'd.wake_at IS NOT NULL'`,
      ),
    ],
    tests: plans,
  },
  'reads-a-common-name': {
    about: 'reads all of a range or a name where an index has its order',
    patches: [
      patch(
        'core/database/connection-config.ts',
        '  ...COMMON,\n  ...BY_INDEX,',
        '  ...COMMON,\n  ...UNCOMPILED,',
      ),
    ],
    tests: plans,
  },
  'takes-an-id-for-a-key': {
    about: 'takes a text for an id before it looks for the key',
    patches: [
      patch(
        SEARCH,
        "if (key && (await this.#store.exists(runner, 'delay', key))) return 'key';",
        "if (key && /^\\d+$/.test(q)) return 'id';",
      ),
    ],
    tests: ['integration/dashboard/search'],
  },
  'looks-for-each-viewer': {
    about: 'sends its statements for each open dashboard',
    patches: [patch(LIVE, 'this.#feeds.get(scope) ?? new Feed', 'new Feed')],
    tests: live,
  },
  'tells-all-of-each-operation': {
    about: 'tells viewers with limits of the operations of others',
    patches: [patch(LIVE, 'if (this.rights.ordered(line)) ', '')],
    tests: live,
  },
  'opens-the-door': {
    about: 'answers a viewer with limits as one without',
    patches: [
      patch(
        'dashboard/door.ts',
        'if (rights === undefined || rights.seesAll)',
        'if (Date.now() > 0)',
      ),
    ],
    tests: ['integration/dashboard/tenants'],
  },
  'operations-by-who-alone': {
    about: 'takes the operations of all with the same who for those of one viewer',
    patches: [
      patch(
        'dashboard/store/operations.sql.ts',
        " AND ${isWithin('names')} AND ${isWithin('groups')}))",
        '))',
      ),
    ],
    tests: ['integration/dashboard/tenants'],
  },
  'keys-of-other-groups': {
    about: 'tells a viewer of a group that a key is taken in another one',
    patches: [
      patch(
        'dashboard/operation-order.ts',
        'if (groups === null) return',
        'if (groups !== undefined) return',
      ),
    ],
    tests: ['integration/dashboard/tenants'],
  },
  'what-redact-throws': {
    about: 'shows what redact throws, and the payload in it',
    patches: [
      patch(DELAY, "message: 'The log of the application says why.'", 'message: String(error)'),
    ],
    tests: ['integration/dashboard/tenants'],
  },
  'streams-without-end': {
    about: 'opens as many streams as are asked for',
    patches: [patch(LIVE, 'const STREAMS_MAX = 50;', 'const STREAMS_MAX = 5_000;')],
    tests: live,
  },
};
