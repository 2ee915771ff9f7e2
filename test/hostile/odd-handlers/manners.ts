import type { OddHandler } from './odd-handler.js';

const completes = (what: string, act: OddHandler['act']): OddHandler => ({
  what,
  act,
  ends: ['completed'],
});

const BLOCKS_MS = 300;

/** Bad manners in the process, without a transaction. */
export const MANNERS: readonly OddHandler[] = [
  completes('blocks the event loop', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKS_MS);
  }),
  completes('keeps the microtasks busy', async () => {
    const untilMs = performance.now() + BLOCKS_MS;
    while (performance.now() < untilMs) await Promise.resolve();
  }),
  completes('warns', () => process.emitWarning('odd', 'OddWarning')),
  completes('changes all of the delay', ({ delay }) => {
    for (const property of Object.keys(delay)) Reflect.set(delay, property, { toString: null });
  }),
  completes('deletes all of the delay', ({ delay }) => {
    for (const property of Object.keys(delay)) Reflect.deleteProperty(delay, property);
  }),
  completes('moves the dates of the delay', ({ delay }) => {
    delay.dueAt.setTime(NaN);
    delay.createdAt.setTime(8.64e15);
  }),
  completes('takes the name and key of another delay', ({ delay }) => {
    Object.assign(delay, { id: '1', name: 'test.other', key: 'other', attempt: 99 });
  }),
  completes('freezes all it gets', ({ delay, ctx }) => {
    Object.freeze(delay);
    Object.freeze(ctx);
  }),
  completes('replaces its signal', ({ ctx }) => {
    Reflect.defineProperty(ctx, 'signal', { value: AbortSignal.abort() });
  }),
  completes('aborts for itself', ({ ctx }) => {
    ctx.signal.dispatchEvent(new Event('abort'));
  }),
  completes('schedules what is refused', async ({ delays }) => {
    await delays.schedule('test.h', undefined as never, { after: 1 }).catch(() => {});
    await delays.scheduleMany([null as never]).catch(() => {});
    await delays.cancel('test.h', '').catch(() => {});
  }),
];
