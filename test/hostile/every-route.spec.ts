import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { DatabaseDoor } from '../e2e/support/database-door.js';
import { RunningShop } from '../e2e/support/running-shop.js';
import { JSON_TYPE, problemIn } from '../e2e/support/answered.js';
import { routedBy, routesOf, type Route, type Schema } from './http/routes.js';

/** What browsers get, and machines do not ask for: a route that is not in the OpenAPI document. */
const FOR_BROWSERS = [/^GET \/docs/, /^GET \/$/, /^GET \/assets\//, /^HEAD /];

/** Answered without asking the database, or a stream that goes on when it is back. */
const WITHOUT_DATABASE = new Set(['GET /feed', 'GET /processes', 'POST /processes/{name}/kill']);

let shop: RunningShop;
let door: DatabaseDoor;
let routes: Route[];

beforeAll(async () => {
  door = await DatabaseDoor.before(await createTestDatabase());
  shop = await RunningShop.open({}, door);
  routes = await routesOf(shop);
});
afterAll(async () => {
  await shop.mustHold();
  await shop.close();
});

it('the walk knows them all: what Express routes is in the document, or for browsers', () => {
  const told = new Set(routes.map(({ name }) => name));
  const forgotten = routedBy(shop).filter(
    (name) => !told.has(name) && !FOR_BROWSERS.some((page) => page.test(name)),
  );
  expect(forgotten).toEqual([]);
  expect(told.size).toBeGreaterThan(20);
});

/** One odd request, and the field that its answer has to name. */
interface Odd {
  path: string;
  body?: string | undefined;
  field?: string;
}

const changed = ({ at, sample }: Route, given: object, field: string): Odd => ({
  path: at(),
  body: JSON.stringify({ ...JSON.parse(sample!), ...given }),
  field,
});

const isList = ({ type, anyOf = [] }: Schema): boolean => type === 'array' || anyOf.some(isList);

const WALKS: [what: string, status: number, oddOf: (route: Route) => Odd[]][] = [
  [
    'an id that is none, or that nobody has',
    404,
    ({ hasId, at, sample: body }) =>
      hasId ? ['42', 'a%00b', undefined].map((id) => ({ path: at(id), body })) : [],
  ],
  [
    'a field that it does not have, or that is of another kind',
    400,
    (route) => {
      const fields = Object.entries(route.body?.properties ?? {});
      const odd = fields.map(([name, schema]) => [name, isList(schema) ? 1 : [[]]] as const);
      // A provider's report may say more than the shop knows.
      const mayHaveMore = !route.body || route.name === 'POST /payments/callback';
      const all = mayHaveMore ? odd : [...odd, ['surprise', 1] as const];
      return all.map(([name, value]) => changed(route, { [name]: value }, name));
    },
  ],
  [
    'an odd query',
    400,
    ({ query, at }) =>
      (query.length === 0 ? [] : ['surprise', ...query]).flatMap((field) =>
        ['%00', '-1', `1&${field}=2`].map((odd) => ({ path: `${at()}?${field}=${odd}`, field })),
      ),
  ],
];

/** Whose server it is, and which other origins may read it, is in no header. */
const TELLTALE = /^(?:x-powered-by|server|set-cookie|access-control-)/;

it.each(WALKS)('every route answers %s with %i', async (_, status, oddOf) => {
  const all = routes.flatMap((route) =>
    oddOf(route).map((odd) => ({ method: route.method, ...odd })),
  );
  expect(all).not.toEqual([]);
  for (const { method, path, body, field } of all) {
    const answer = await shop.sendAsItIs(method, path, body, body ? JSON_TYPE : {});
    const { errors } = problemIn(answer, status);
    const named = errors?.map((error) => error.field.split('.')[0]);
    expect({ method, path, named }).toEqual({ method, path, named: field ? [field] : undefined });
    expect(Object.keys(answer.headers).filter((name) => TELLTALE.test(name))).toEqual([]);
  }
});

const OF_ANOTHER_PAGE: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'same-site' },
];

it('a page of another origin may change nothing, by any route', async () => {
  const changing = routes.filter(({ method }) => method !== 'GET');
  expect(changing).not.toEqual([]);
  for (const { name, method, at, sample } of changing) {
    for (const headers of OF_ANOTHER_PAGE) {
      const of = { ...headers, ...(sample && JSON_TYPE) };
      const answer = await shop.sendAsItIs(method, at(), sample, of);
      expect({ name, says: problemIn(answer, 403).detail }).toEqual({
        name,
        says: 'a page of another origin may not do this',
      });
    }
  }
});

it('what it reads comes without leave to read it', async () => {
  const answer = await shop.sendAsItIs('GET', '/skus', undefined, {
    origin: 'https://evil.example',
  });
  expect(answer.status).toBe(200);
  expect(Object.keys(answer.headers).filter((name) => TELLTALE.test(name))).toEqual([]);
});

it('away, the database is 503 and when to ask again, for every route, and one line of log', async () => {
  const lines: string[] = [];
  const write = (...said: unknown[]) => void lines.push(said.map(String).join(' '));
  shop.app.useLogger({ log() {}, warn: write, error: write, fatal: write });
  await door.shut();
  for (const { name, method, at, sample } of routes) {
    if (WITHOUT_DATABASE.has(name)) continue;
    const answer = await shop.sendAsItIs(method, at(), sample, sample ? JSON_TYPE : {});
    expect({ name, says: problemIn(answer, 503).detail }).toMatchObject({
      says: expect.stringMatching(/ask again/),
    });
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  }
  const ofHttp = lines.filter((line) => line.endsWith(' Http'));
  expect(ofHttp).toEqual([expect.stringMatching(/^Postgres is away \(.+\): .* 503 Http$/)]);
  expect(lines.join('\n')).not.toMatch(/SELECT |INSERT |UPDATE |\n\s+at /);
  await door.open();
  await until(
    () => shop.get('/skus'),
    ({ status }) => status === 200,
  );
  shop.app.useLogger(false);
});
