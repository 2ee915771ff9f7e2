import { type Mutant, patch } from './mutant.js';

const ADOPTED = 'core/api/adopted.ts';
const CODEC = 'core/config/payload-codec.ts';
const SCHEMA = 'core/config/payload-schemas.ts';

/** Values and errors of a user's functions that go past the one door. */
export const USERS_FUNCTIONS: Readonly<Record<string, Mutant>> = {
  'follows-a-circle': {
    about: 'asks a thenable that answers itself for ever, and does nothing else',
    patches: [patch(ADOPTED, 'depth < THENABLES_MAX', 'depth > 0')],
    tests: ['hostile/users-functions'],
  },
  'believes-the-second': {
    about: 'lets a thenable take back what it has told',
    patches: [patch(ADOPTED, 'if (isTold) return;', '')],
    tests: ['hostile/users-functions'],
  },
  'takes-promises-as-they-are': {
    about: 'takes a promise with methods of its own for an ordinary one',
    patches: [
      patch(ADOPTED, '!OWN.some((name) => Object.hasOwn(value, name))', 'OWN.length > 0'),
      patch(
        'core/worker/invoke.ts',
        'adopted(handler.invoke(work, ctx))',
        'handler.invoke(work, ctx)',
      ),
    ],
    tests: ['hostile/users-functions'],
  },
  'encodes-past-the-door': {
    about: 'takes a thenable of a codec for a promise',
    patches: [
      patch(
        CODEC,
        'inTime(adopted(codec.encode(json, onlyOwner(owner))), lateCodec)',
        'codec.encode(json, onlyOwner(owner))',
      ),
      patch(
        CODEC,
        'return text instanceof Promise ? text.then(wrapped, failed)',
        "return (text as object) && typeof text === 'object' && 'then' in text ? text.then(wrapped, failed)",
      ),
    ],
    tests: ['hostile/users-functions'],
  },
  'waits-for-a-codec': {
    about: 'keeps the call of a codec or a schema that never answers',
    patches: [
      patch(
        'core/config/payload-schemas.ts',
        'if (value !== LATE) return value;',
        'return value as Answer;',
      ),
    ],
    tests: ['unit/config/schemas'],
  },
  'trusts-issues': {
    about: 'fails for issues that cannot be read, and tries such a payload again',
    patches: [
      patch(
        SCHEMA,
        '    // The issues read so far are enough.',
        "    throw new TypeError('issues');",
      ),
    ],
    tests: ['hostile/users-functions'],
  },
  'trusts-results': {
    about: 'throws what the result of a schema throws that is read',
    patches: [
      patch(
        SCHEMA,
        "readPart(() => Reflect.get(result, 'issues'))",
        "Reflect.get(result, 'issues')",
      ),
    ],
    tests: ['hostile/users-functions'],
  },
  'takes-getters': {
    about: 'takes a decorator on a getter, and never finds it',
    patches: [
      patch(
        'core/handlers/decorators.ts',
        "if (get !== undefined || set !== undefined) return 'a getter or setter';",
        'if (get !== undefined || set !== undefined) return undefined;',
      ),
    ],
    tests: ['unit/handlers/handlers'],
  },
  'does-not-miss-a-method': {
    about: 'does not see that a decorated method is none any more',
    patches: [
      patch('core/handlers/handler.explorer.ts', '    checkDecorated(prototype, className);\n', ''),
    ],
    tests: ['unit/handlers/handlers'],
  },
  'loses-a-turn-to-the-logger': {
    about: 'leaves out the timers of a turn when the logger throws',
    patches: [
      patch(
        'core/timer-wheel/wheel.service.ts',
        'quietly(() => this.#logger.error(`${what} failed: ${describeError(error)}`, error));',
        'this.#logger.error(`${what} failed: ${describeError(error)}`, error);',
      ),
    ],
    tests: ['hostile/users-functions'],
  },
  'does-not-wait-for-progress': {
    about: 'lets a rejection of onProgress end the process',
    patches: [
      patch(
        'core/client/matching.ts',
        'await adopted<unknown>(onProgress?.(',
        'void (onProgress?.(',
      ),
    ],
    tests: ['hostile/users-functions'],
  },
};
