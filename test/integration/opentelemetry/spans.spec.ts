import { afterEach, describe, expect, it } from '@jest/globals';
import { type Attributes, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { DelayHeaders } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import type { EntityManager } from 'typeorm';
import {
  batchHandler,
  fencedHandler,
  plainHandler,
  signal,
  type Signal,
} from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';
import { until } from '../../support/until.js';
import { inRequest, parentOf, Sdk } from '../../support/opentelemetry.js';

const sdk = new Sdk();

/** The span of each call of a handler, as the handler finds it. */
const active: (string | undefined)[] = [];
const note = (): void => void active.push(trace.getActiveSpan()?.spanContext().spanId);
let hold: Signal<void> | undefined;
let failures = 0;

const node = new OneNode({
  options: { nodeName: 'traced', telemetry: openTelemetry() },
  providers: [
    plainHandler('test.runs', async () => {
      note();
      await hold?.promise;
      note();
    }),
    fencedHandler('test.fenced', async (_delay, { manager }) => {
      note();
      await node.delays.schedule('test.runs', null, { after: 0, manager });
    }),
    plainHandler(
      'test.fails',
      () => {
        if (failures-- > 0) throw Object.assign(new TypeError('no stock'), { code: 'E_STOCK' });
      },
      { backoff: () => 0 },
    ),
    batchHandler('test.batch', () => hold?.promise, { batch: 10, concurrency: 1 }),
    plainHandler('test.recurs', () => {}),
    plainHandler('test.own', (delay) => again('test.own', delay)),
    batchHandler('test.owns', ([delay]) => again('test.owns', delay!), { batch: 5 }),
    plainHandler('test.ping', (delay) => again('test.pong', delay)),
    fencedHandler('test.pong', ({ payload }, { manager }) =>
      again('test.ping', { payload }, manager),
    ),
  ],
});

const RUNS = 6;

/** One run more, of the same delay or of another, as a chain without an end has it. */
async function again(
  name: `test.${string}`,
  { payload, key = null }: { payload: unknown; key?: string | null },
  manager?: EntityManager,
): Promise<void> {
  const left = Number(payload) - 1;
  if (left === 0) return;
  const options = { after: 0, ...(key !== null && { key }), ...(manager && { manager }) };
  await node.delays.schedule(name, left, options);
}

afterEach(() => {
  active.length = 0;
  hold = undefined;
});

const ended = (name: string, count = 1): Promise<ReadableSpan[]> =>
  until(
    () => sdk.named(name),
    (spans) => spans.length >= count,
  );

const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;

/** Without the long prefixes. */
const told = ({ attributes }: { attributes: Attributes }): object =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name.replace(/^messaging\.(nestjs_delay_queue\.)?/, ''),
      value,
    ]),
  );

const headersOf = async (key: string): Promise<DelayHeaders | undefined> =>
  (await node.delays.find('test.later', key))?.headers;

describe('a delay', () => {
  it('is scheduled in the span of its request and run in a span below, which its handler finds', async () => {
    const { id } = await inRequest('POST /orders', () =>
      node.delays.schedule('test.runs', null, { after: 0, key: '42', group: 'g' }),
    );
    const [run] = await ended('process test.runs');
    const [scheduled] = sdk.named('schedule test.runs');
    const [request] = sdk.named('POST /orders');
    expect([run?.kind, scheduled?.kind]).toEqual([SpanKind.CONSUMER, SpanKind.PRODUCER]);
    expect(idOf(parentOf(run!, sdk.spans))).toBe(idOf(scheduled));
    expect(idOf(parentOf(scheduled!, sdk.spans))).toBe(idOf(request));
    expect(active).toEqual([idOf(run), idOf(run)]);
    const both = {
      system: 'nestjs_delay_queue',
      'destination.name': 'test.runs',
      'client.id': 'traced',
      'message.id': id,
      'message.key': '42',
      'message.group': 'g',
    };
    expect(told(scheduled!)).toEqual({
      ...both,
      'operation.name': 'schedule',
      'operation.type': 'send',
      verdict: 'scheduled',
    });
    expect(told(run!)).toEqual({
      ...both,
      'operation.name': 'process',
      'operation.type': 'process',
      attempt: 1,
      lateness: expect.any(Number),
      outcome: 'completed',
    });
    expect(run?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('carries traceparent beside the headers of its caller, and no more', async () => {
    await inRequest('GET /', () =>
      node.delays.schedule('test.later', null, {
        after: '1h',
        key: 'k',
        headers: { 'x-tenant': 'eu' },
      }),
    );
    const [scheduled] = await ended('schedule test.later');
    const { traceId, spanId } = scheduled!.spanContext();
    expect(await headersOf('k')).toEqual({
      'x-tenant': 'eu',
      traceparent: `00-${traceId}-${spanId}-01`,
    });
  });

  it.each([
    [{ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }],
    // No room for more.
    [{ text: 'x'.repeat(4_080) }],
    [Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`h${index}`, '']))],
  ])('keeps the headers of its caller: %#', async (headers: DelayHeaders) => {
    await node.delays.schedule('test.later', null, { after: '1h', key: 'k', headers });
    expect(await headersOf('k')).toEqual(headers);
  });

  it('that fails has a span for each attempt, all below the one that scheduled it', async () => {
    failures = 1;
    await node.delays.schedule('test.fails', null, { after: 0, key: '1' });
    const [failed, completed] = await ended('process test.fails', 2);
    const [scheduled] = sdk.named('schedule test.fails');
    for (const run of [failed, completed]) {
      expect(idOf(parentOf(run!, sdk.spans))).toBe(idOf(scheduled));
    }
    expect(failed?.status).toEqual({
      code: SpanStatusCode.ERROR,
      message: 'TypeError: no stock',
    });
    expect(failed?.attributes).toMatchObject({ 'error.type': 'E_STOCK' });
    expect(told(failed!)).toMatchObject({ attempt: 1, outcome: 'retrying' });
    expect(failed?.events).toEqual([
      expect.objectContaining({
        name: 'exception',
        attributes: expect.objectContaining({
          'exception.type': 'TypeError',
          'exception.stacktrace': expect.stringContaining('spans.spec'),
        }),
      }),
    ]);
    expect(told(completed!)).toMatchObject({ attempt: 2, outcome: 'completed' });
  });

  it('that a transactional handler schedules is below its span', async () => {
    await node.delays.schedule('test.fenced', null, { after: 0 });
    const [inner] = await ended('process test.runs');
    const path = [inner!];
    for (let span = parentOf(inner!, sdk.spans); span; span = parentOf(span, sdk.spans)) {
      path.push(span);
    }
    expect(path.map(({ name }) => name)).toEqual([
      'process test.runs',
      'schedule test.runs',
      'process test.fenced',
      'schedule test.fenced',
    ]);
    expect(active[0]).toBe(idOf(path[2]));
  });

  it.each([
    ['schedules its own key', 'test.own', { key: 'k' }, 1],
    ['schedules its own name', 'test.own', {}, 1],
    ['schedules its own key, in batches', 'test.owns', { key: 'k' }, 1],
    ['is one of two that schedule each other', 'test.ping', {}, 2],
  ] as const)('that %s makes no endless trace', async (_, name, options, runsMax) => {
    await inRequest('POST /', () => node.delays.schedule(name, RUNS, { after: 0, ...options }));
    const runs = await until(
      () => sdk.spans.filter((span) => span.name.startsWith('process ')),
      ({ length }) => length === RUNS,
    );
    const traces = new Map<string, number>();
    for (const run of runs) {
      const { traceId } = run.spanContext();
      traces.set(traceId, (traces.get(traceId) ?? 0) + 1);
    }
    expect(Math.max(...traces.values())).toBe(runsMax);
    // Each trace but the first begins with a call that is linked to the run that made it.
    const links = sdk.spans.flatMap((span) => span.links.map((link) => link.context.spanId));
    const linked = runs.filter((run) => links.includes(run.spanContext().spanId));
    expect(linked).toHaveLength(traces.size - 1);
  });

  it('that recurs begins a trace with each run, linked to the one that scheduled it', async () => {
    const repeat = { every: '1h' } as const;
    await node.delays.schedule('test.recurs', null, { after: 0, key: 'r', repeat });
    const [run] = await ended('process test.recurs');
    const [scheduled] = sdk.named('schedule test.recurs');
    expect(run?.parentSpanContext).toBeUndefined();
    expect(run?.spanContext().traceId).not.toBe(scheduled?.spanContext().traceId);
    expect(run?.links.map((link) => link.context.spanId)).toEqual([idOf(scheduled)]);
  });
});

describe('a batch', () => {
  it('is one span, linked to those that scheduled its delays', async () => {
    hold = signal();
    await node.delays.schedule('test.batch', null, { after: 0 });
    const ids = [];
    for (const key of ['1', '2', '3']) {
      const { id } = await node.delays.schedule('test.batch', null, { after: 0, key });
      ids.push(id);
    }
    hold.resolve();
    const runs = await ended('process test.batch', 2);
    const run = runs.find(({ attributes }) => 'messaging.batch.message_count' in attributes);
    const links = run!.links.map((link) => link.attributes?.['messaging.message.id']);
    // The first runs alone, and what comes while it runs in one batch or two.
    expect(links.length).toBeGreaterThan(1);
    expect(ids).toEqual(expect.arrayContaining(links));
    expect(run?.parentSpanContext).toBeUndefined();
    expect(told(run!)).toMatchObject({ 'batch.message_count': links.length });
    expect(told(run!)).not.toHaveProperty('message.id');
    const schedules = new Set(sdk.named('schedule test.batch').map(idOf));
    for (const { context } of run!.links) expect(schedules).toContain(context.spanId);
  });

  it('of scheduleMany is one span, and the parent of all its runs', async () => {
    const items = ['1', '2'].map((key) => ({
      name: 'test.runs' as const,
      payload: null,
      after: 0,
      key,
    }));
    await node.delays.scheduleMany(items);
    const runs = await ended('process test.runs', 2);
    const [scheduled, ...others] = sdk.named('schedule test.runs');
    expect([others, told(scheduled!)]).toEqual([
      [],
      expect.objectContaining({ 'batch.message_count': 2, verdict: 'scheduled' }),
    ]);
    for (const run of runs) expect(idOf(parentOf(run, sdk.spans))).toBe(idOf(scheduled));
  });
});

describe('a call', () => {
  it.each(['cancel', 'reschedule'] as const)('%s is a span with its verdict', async (verb) => {
    await node.delays.schedule('test.later', null, { after: '1h', key: 'k' });
    if (verb === 'cancel') await node.delays.cancel('test.later', 'k');
    else await node.delays.reschedule('test.later', 'k', { after: '2h' });
    const [span] = await ended(`${verb} test.later`);
    expect(span?.kind).toBe(SpanKind.CLIENT);
    expect(told(span!)).toMatchObject({
      'operation.name': verb,
      'message.key': 'k',
      verdict: verb === 'cancel' ? 'cancelled' : 'rescheduled',
    });
  });

  it('that is refused ends its span with the code of the error', async () => {
    const options = { after: '1h', key: 'k', onConflict: 'error' } as const;
    await node.delays.schedule('test.later', null, options);
    await expect(node.delays.schedule('test.later', null, options)).rejects.toMatchObject({
      code: 'DELAY_CONFLICT',
    });
    const [, refused] = await ended('schedule test.later', 2);
    expect(refused?.status.code).toBe(SpanStatusCode.ERROR);
    expect(refused?.attributes['error.type']).toBe('DELAY_CONFLICT');
  });
});
