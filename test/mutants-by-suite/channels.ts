import { type Mutant, patch } from './mutant.js';

const CHANNELS = 'core/api/channels.ts';
const CLAIMER = 'core/worker/claimer.ts';
const COMPLETER = 'core/worker/completer.ts';
const EVENTS = 'core/api/events.ts';
const ATTEMPT = 'core/worker/attempt.ts';
const REPORTS = 'core/worker/attempt-reports.ts';
const CALLS = 'core/client/observed-calls.ts';
const channels = ['integration/channels'];
const attempts = ['integration/attempt-channel'];

const ENDS = 'if (attempt.message !== undefined) publish';

/** Ways to tell subscribers and listeners less than what happens, or more than they may know. */
export const CHANNELS_AND_EVENTS: Readonly<Record<string, Mutant>> = {
  'ends-no-lost-attempt': {
    about: 'leaves an attempt open on its channel when it is lost, since nothing is written',
    patches: [
      patch(REPORTS, ENDS, "if (attempt.message !== undefined && outcome !== 'lost') publish"),
    ],
    tests: attempts,
  },
  'ends-no-superseded-transaction': {
    about: 'reports a transactional attempt that moved on as completed',
    patches: [
      patch(COMPLETER, "if (movedOn) this.#ends.end('superseded', attempt);\n    else if", 'if'),
    ],
    tests: attempts,
  },
  'ends-no-released-attempt': {
    about: 'leaves an attempt open that it gives back',
    patches: [patch(COMPLETER, "RELEASED, 'released')", 'RELEASED)')],
    tests: attempts,
  },
  'ends-no-exhausted-attempt': {
    about: 'leaves the last attempt open when its end is no event',
    patches: [
      patch(REPORTS, ENDS, "if (attempt.message !== undefined && outcome !== 'exhausted') publish"),
    ],
    tests: attempts,
  },
  'hides-calls-of-on-dead': {
    about: 'publishes nothing of the calls of @OnDeadDelay, as it emits no event for their start',
    patches: [
      patch(
        REPORTS,
        'const isTraced = delayChannels.attempt.hasSubscribers ||',
        'const isTraced = (call.onDead === null && delayChannels.attempt.hasSubscribers) ||',
      ),
    ],
    tests: attempts,
  },
  'calls-outside-of-the-context': {
    about: 'publishes the start of an attempt, and calls its handler outside of what that opened',
    patches: [
      patch(
        REPORTS,
        'const result = start.runStores(\n      first,',
        'start.publish(first);\n    const result = ((run: () => Result) => run())(',
      ),
    ],
    tests: attempts,
  },
  'writes-outside-of-the-context': {
    about: 'publishes the start of a call, and writes outside of what that opened',
    patches: [
      patch(
        CHANNELS,
        'const result = channel.start.runStores(message, toItsEnd);',
        'channel.start.publish(message);\n  const result = toItsEnd();',
      ),
    ],
    tests: channels,
  },
  'tells-of-one-per-batch': {
    about: 'publishes one message for all delays of a batch',
    patches: [
      patch(
        REPORTS,
        'const messages = call.attempts.map(',
        'const messages = call.attempts.slice(0, 1).map(',
      ),
    ],
    tests: attempts,
  },
  'starts-one-per-batch': {
    about: 'publishes the start of the first delay of a batch only',
    patches: [patch(REPORTS, 'for (const message of others) start.publish(message);', '')],
    tests: attempts,
  },
  'ends-attempts-twice': {
    about: 'ends the last attempt once more when its row is gone before it is given back',
    patches: [patch(REPORTS, '  attempt.message = undefined;\n', '')],
    tests: ['unit/worker/completer'],
  },
  'has-its-error-late': {
    about: 'sets the error of an attempt after it has published it',
    patches: [
      patch(
        REPORTS,
        'if (error !== undefined) message.error = cause ?? new Error(error);\n  publishEnd(delayChannels.attempt, message);',
        'publishEnd(delayChannels.attempt, message);\n  if (error !== undefined) message.error = cause ?? new Error(error);',
      ),
    ],
    tests: attempts,
  },
  'ends-only-what-succeeds': {
    about: 'publishes no end of a call that throws',
    patches: [
      patch(
        CHANNELS,
        '    } finally {\n      publishEnd(channel, message);',
        '    } finally {\n      if (message.error === undefined) publishEnd(channel, message);',
      ),
    ],
    tests: channels,
  },
  'hides-failed-claims': {
    about: 'publishes a claim that failed as one that got no row',
    patches: [patch(CLAIMER, 'if (message !== undefined) message.error = error;', '')],
    tests: channels,
  },
  'leaks-payloads': {
    about: 'puts the row of an attempt, with its payload, into its message',
    patches: [
      patch(
        REPORTS,
        'node: this.node,\n      id: String(row.id),',
        '...row,\n      node: this.node,\n      id: String(row.id),',
      ),
    ],
    tests: channels,
  },
  'leaves-headers-out': {
    about: 'publishes attempts without their headers, and so without their trace',
    patches: [patch(REPORTS, 'headers: extras.headers,', 'headers: {},')],
    tests: channels,
  },
  'lets-subscribers-end-the-process': {
    about: 'lets the error of a subscriber be an uncaught exception',
    patches: [patch(CHANNELS, '  for (const step of STEPS) guard(channel[step]);\n', '')],
    tests: channels,
  },
  'keeps-who-unsubscribed': {
    about: 'wraps who subscribes, and finds no wrapper when it unsubscribes',
    patches: [
      patch(
        CHANNELS,
        "for (const name of ['subscribe', 'unsubscribe'] as const)",
        "for (const name of ['subscribe'] as const)",
      ),
    ],
    tests: channels,
  },
  'counts-the-total-as-a-verdict': {
    about: 'publishes how many delays matched as if that were a verdict',
    patches: [
      patch(
        CALLS,
        'const { matched: _, ...verdicts } = answer as Record<string, number>;',
        'const verdicts = answer as Record<string, number>;',
      ),
    ],
    tests: channels,
  },
  'tells-one-verdict-of-many': {
    about: 'publishes the verdict of the first of a list as that of all',
    patches: [
      patch(
        CALLS,
        'return others.length === 0 ? first : undefined;',
        'return others.length < 0 ? undefined : first;',
      ),
    ],
    tests: channels,
  },
  'starts-calls-of-on-dead': {
    about: 'emits the start of an attempt for a call of @OnDeadDelay, which is none',
    patches: [patch(REPORTS, 'call.onDead === null && this.events', 'this.events')],
    tests: ['integration/on-dead/dead-letters'],
  },
  'starts-the-first-of-a-batch': {
    about: 'emits one start for all delays of a batch',
    patches: [
      patch(REPORTS, 'of call.attempts) this.events', 'of call.attempts.slice(0, 1)) this.events'),
    ],
    tests: attempts,
  },
  'forgets-what-was-thrown': {
    about: 'leaves what the handler threw out of the event, which has its text alone',
    patches: [
      patch(
        REPORTS,
        'event : withCause({ ...event, error }, cause)',
        'event : { ...event, error }',
      ),
    ],
    tests: ['integration/ends'],
  },
  'copies-what-was-thrown': {
    about: 'gives events a cause that copies and logs take along',
    patches: [patch(EVENTS, '{ value: cause }', '{ value: cause, enumerable: true }')],
    tests: ['integration/ends'],
  },
  'ends-without-headers': {
    about: 'leaves the headers, and so the trace, out of events about ends',
    patches: [
      patch(
        ATTEMPT,
        '    headers: extras.headers,\n    attempt: row.attempts,',
        '    headers: {},\n    attempt: row.attempts,',
      ),
    ],
    tests: ['integration/group-and-headers'],
  },
  'stops-at-a-listener': {
    about: 'leaves out the listeners that come after one that throws',
    patches: [
      patch(EVENTS, '        // Other listeners still receive the event.', '        return true;'),
    ],
    tests: ['unit/handlers/on-delay-event'],
  },
};
