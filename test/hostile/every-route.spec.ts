import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { DatabaseDoor } from '../e2e/support/database-door.js';
import { RunningShop } from '../e2e/support/running-shop.js';
import { problemIn } from './http/answered.js';
import { ID, JSON_TYPE } from './http/request.js';
import { routedBy, routesOf, type Route, type Schema } from './http/routes.js';

/** What browsers get, and machines do not ask for: a route that is not in the OpenAPI document. */
const FOR_BROWSERS = [/^GET \/docs/, /^GET \/$/, /^GET \/assets\//];

/** Answered without asking the database, or a stream that goes on when it is back. */
const WITHOUT_DATABASE = new Set(['GET /feed']);

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const ODD_IDS = [
  '42',
  'undefined',
  'a%00b',
  '%F0%9F%98%80',
  'x'.repeat(5_000),
  encodeURIComponent(`' OR 1=1; DROP TABLE orders; --`),
  `${ID}%20`,
];

const ODD_QUERIES = ['%00', 'x', '-1', `${ID}'--`, '%F0%9F%98%80', 'y'.repeat(3_000), ''];

/** None of them is an object. */
const ODD_BODIES = ['null', '[]', '1', '"items"', 'true'];
const NO_JSON = ['{', '{"a":1,}', "{'a':1}", 'a=1', '<a/>', '\0'];

const ODD_VALUES: [kind: string, value: unknown][] = [
  ['null', null],
  ['boolean', true],
  ['number', 1e300],
  ['number', -1],
  ['number', 0.5],
  ['string', '\0'],
  ['string', '\uD800'],
  ['string', 'x'.repeat(20_000)],
  ['array', [[]]],
  ['object', { $ne: null }],
];

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

/** For every one of these routes; a failure says of which. @returns how many they are */
async function each(chosen: Route[], look: (route: Route) => Promise<void>): Promise<number> {
  for (const route of chosen) {
    try {
      await look(route);
    } catch (error) {
      if (error instanceof Error) error.message = `${route.name}: ${error.message}`;
      throw error;
    }
  }
  return chosen.length;
}

const send = ({ method, at }: Route, body?: string, headers = {}) =>
  shop.sendAsItIs(method, at(), body, headers);

/** As it should be sent, but for its id. */
const sendAt = ({ method, at, body, sample }: Route, id?: string) =>
  shop.sendAsItIs(method, at(id), sample, body ? JSON_TYPE : {});

const withBody = (): Route[] => routes.filter(({ body }) => body);
const withId = (): Route[] => routes.filter(({ hasId }) => hasId);
const sending = (): Route[] => routes.filter(({ method }) => method !== 'GET');

it('is walked over: what Express routes is in the document, or a page for browsers', () => {
  const told = new Set(routes.map(({ name }) => name));
  const forgotten = routedBy(shop).filter(
    (name) => !told.has(name) && !FOR_BROWSERS.some((page) => page.test(name)),
  );
  expect(forgotten).toEqual([]);
  expect(told.size).toBeGreaterThan(20);
});

describe('every route answers with a problem', () => {
  it('405 and what is allowed, for every method that it does not have', async () => {
    for (const { at } of routes) {
      const here = routes.filter((other) => other.at() === at()).map(({ method }) => method);
      for (const method of METHODS.filter((name) => !here.includes(name))) {
        const answer = await shop.sendAsItIs(method, at());
        // Another route takes a word of this path for an id, as /payments/:id does with `callback`.
        if (answer.status === 404) continue;
        expect(problemIn(answer, 405).detail).toContain(method);
        for (const allowed of here) expect(answer.headers.allow).toContain(allowed);
      }
    }
  });

  it('404 for an id that is none', async () => {
    const walked = await each(withId(), async (route) => {
      for (const id of ODD_IDS) problemIn(await sendAt(route, id), 404);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('404 for an id that nobody has', async () => {
    const walked = await each(withId(), async (route) => {
      problemIn(await sendAt(route), 404);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 for an id that cannot be decoded', async () => {
    const walked = await each(withId(), async (route) => {
      problemIn(await sendAt(route, '%C3%28'), 400);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 and the name, for a field that its body does not have', async () => {
    // A provider's report may say more than the shop knows.
    const strict = withBody().filter(({ name }) => name !== 'POST /payments/callback');
    const walked = await each(strict, async (route) => {
      const body = JSON.stringify({ ...JSON.parse(route.sample!), surprise: 1 });
      const { errors } = problemIn(await send(route, body, JSON_TYPE), 400);
      expect(errors).toEqual([
        { field: 'surprise', message: expect.stringContaining('is not known here; there is') },
      ]);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 and the name, for each field that is missing', async () => {
    const walked = await each(withBody(), async (route) => {
      for (const name of route.body!.required ?? []) {
        const { [name]: _, ...rest } = JSON.parse(route.sample!);
        const { errors } = problemIn(await send(route, JSON.stringify(rest), JSON_TYPE), 400);
        expect(errors).toEqual([
          { field: name, message: expect.stringMatching(/^(?:is missing; )?must be /) },
        ]);
      }
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 and the name, for each field of another kind', async () => {
    const walked = await each(withBody(), async (route) => {
      for (const [name, schema] of Object.entries(route.body!.properties!)) {
        for (const value of valuesAgainst(schema)) {
          const odd = JSON.stringify({ ...JSON.parse(route.sample!), [name]: value });
          const { errors } = problemIn(await send(route, odd, JSON_TYPE), 400);
          for (const { field } of errors!) expect(field.split('.')[0]).toBe(name);
        }
      }
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 for a body that is no object, or none at all', async () => {
    const walked = await each(withBody(), async (route) => {
      for (const odd of ODD_BODIES) problemIn(await send(route, odd, JSON_TYPE), 400);
      if ((route.body!.required ?? []).length === 0) return;
      problemIn(await send(route, undefined, {}), 400);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 for what is no JSON, whether it wants a body or not', async () => {
    const walked = await each(sending(), async (route) => {
      for (const odd of NO_JSON) problemIn(await send(route, odd, JSON_TYPE), 400);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('413 for more than a megabyte', async () => {
    const huge = JSON.stringify({ x: 'x'.repeat(1_100_000) });
    const walked = await each(withBody(), async (route) => {
      problemIn(await send(route, huge, JSON_TYPE), 413);
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('415 for a body that is not said to be JSON, whether it wants one or not', async () => {
    const walked = await each(sending(), async (route) => {
      for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded']) {
        const headers = type === undefined ? {} : { 'content-type': type };
        const answer = await send(route, route.sample ?? '{}', headers);
        expect(problemIn(answer, 415).detail).toContain('content-type: application/json');
      }
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('400 and the name, for each odd value in its query, and for what is not in it', async () => {
    const withQuery = routes.filter(({ query }) => query.length > 0);
    const walked = await each(withQuery, async ({ method, at, query }) => {
      for (const name of query) {
        for (const odd of [...ODD_QUERIES, `1&${name}=2`]) {
          const answer = await shop.sendAsItIs(method, `${at()}?${name}=${odd}`);
          const { errors } = problemIn(answer, 400);
          expect(errors).toEqual([expect.objectContaining({ field: name })]);
        }
        const nested = await shop.sendAsItIs(method, `${at()}?${name}[$ne]=1`);
        problemIn(nested, 400);
      }
      const more = await shop.sendAsItIs(method, `${at()}?surprise=1`);
      const { errors } = problemIn(more, 400);
      expect(errors).toEqual([expect.objectContaining({ field: 'surprise' })]);
    });
    expect(walked).toBeGreaterThan(0);
  });
});

describe('while the database is away', () => {
  const lines: string[] = [];
  const write = (...said: unknown[]) => void lines.push(said.map(String).join(' '));

  beforeAll(async () => {
    shop.app.useLogger({ log() {}, warn: write, error: write, fatal: write });
    await door.shut();
  });
  afterAll(async () => {
    await door.open();
    await until(
      () => shop.get('/skus'),
      ({ status }) => status === 200,
    );
    shop.app.useLogger(false);
  });

  it('every route answers 503 and when to ask again', async () => {
    const asking = routes.filter(({ name }) => !WITHOUT_DATABASE.has(name));
    const walked = await each(asking, async (route) => {
      const many = await Promise.all([sendAt(route), sendAt(route), sendAt(route)]);
      for (const answer of many) {
        expect(problemIn(answer, 503).detail).toMatch(/ask again/);
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      }
    });
    expect(walked).toBeGreaterThan(0);
  });

  it('the log has one line of it, without SQL and without a stack', () => {
    const ofHttp = lines.filter((line) => line.endsWith(' Http'));
    expect(ofHttp).toEqual([expect.stringMatching(/^Postgres is away \(.+\): .* 503 Http$/)]);
    expect(lines.join('\n')).not.toMatch(/SELECT |INSERT |UPDATE |\n\s+at /);
  });
});

/** Values that no schema of that kind allows. */
function valuesAgainst(schema: Schema): unknown[] {
  const kinds = (schema.anyOf ?? [schema]).map(({ type }) => type);
  if (schema.nullable) kinds.push('null');
  if (kinds.includes('integer')) kinds.push('number');
  const others = ODD_VALUES.filter(([kind]) => !kinds.includes(kind));
  return others.map(([, value]) => value);
}
