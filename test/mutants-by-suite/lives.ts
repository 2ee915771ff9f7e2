import { type Mutant, patch } from './mutant.js';

const HOOK_ORDER = 'core/module/module-ends.ts';
const CALL = 'core/worker/call.ts';
const LIFE = ['hostile/application-life/application-life.properties'];

/** Holes that only the life of an application shows: how it begins and ends. Each with its mend taken out. */
export const LIVES: Readonly<Record<string, Mutant>> = {
  'hears-of-the-end-last': {
    about: 'drains after all onModuleDestroy have run',
    patches: [patch(HOOK_ORDER, 'await Promise.all(this.ends.map((each) => each.closing()));', '')],
    tests: LIFE,
  },
  'ends-where-it-is-imported': {
    about: 'hears of the end when the module it stands in does',
    patches: [
      patch(HOOK_ORDER, 'module.distance = Infinity;', ';'),
      patch(HOOK_ORDER, 'module.distance = -Infinity;', ';'),
    ],
    tests: LIFE,
  },
  'runs-while-others-bootstrap': {
    about: 'claims as soon as it has bootstrapped itself',
    patches: [
      patch(
        'delay-queue.module.ts',
        'return this.engine.start();',
        'return this.engine.start().then(() => this.engine.bootstrapped());',
      ),
    ],
    tests: LIFE,
  },
  'blames-who-is-late-at-the-end': {
    about: 'takes an attempt for a timeout while the application closes',
    patches: [patch('core/worker/call.ts', "this.#isClosing && given.kind === 'failed'", 'false')],
    tests: LIFE,
  },
  'calls-at-the-end': {
    about: 'calls a handler whose transaction has just begun although the application closes',
    patches: [
      patch(CALL, "if (!this.called && this.onDead === null) this.#cut({ kind: 'released' });", ''),
    ],
    tests: LIFE,
  },
  'connects-without-settings': {
    about: 'takes the settings of a DataSource that has none yet',
    patches: [patch('core/engine/start.ts', 'if (!isInitialized)', 'if (false)')],
    tests: ['integration/engine/odd-starts'],
  },
  'has-a-riddle': {
    about: 'leaves it to Nest to say that there are two copies of it',
    patches: [patch('core/handlers/enhancers.ts', 'optional: true', 'optional: false')],
    tests: ['integration/engine/odd-starts'],
  },
  'waits-for-hooks-in-silence': {
    about: 'says nothing while Nest calls no hooks',
    patches: [
      patch('core/engine/engine.ts', "this.events.emit('advice', { message: NO_HOOKS });", ''),
    ],
    tests: ['integration/engine/odd-starts'],
  },
  'ends-twice': {
    about: 'ends anew with each close',
    patches: [patch('core/engine/engine.ts', '(this.#stopped ??= this.#stop())', 'this.#stop()')],
    tests: ['integration/engine/run-and-stop'],
  },
  'starts-by-itself': {
    about: 'takes autorun for true',
    patches: [
      patch(
        'core/engine/engine.ts',
        "options.autorun || options.worker === 'manual'",
        'true || options.autorun',
      ),
    ],
    tests: ['integration/engine/run-and-stop'],
  },
  'tells-no-handler-of-the-end': {
    about: 'aborts no signal when the application closes',
    patches: [patch('core/worker/worker.ts', 'this.parts.jobs.close();', '')],
    tests: LIFE,
  },
};
