import { type Mutant, patch } from './mutant.js';

const tests = ['integration/engine/idle'];

/** Ways for an idle node to wake its database, or to come too late. */
export const IDLE: Readonly<Record<string, Mutant>> = {
  'idle-keeps-its-share': {
    about: 'counts idle nodes among those that look after delays',
    patches: [patch('core/store/sql/fetch.sql.ts', 'AND n.idle_until IS NULL', '')],
    tests,
  },
  'idle-sweeps-on': {
    about: 'sweeps while the node is idle',
    patches: [
      patch(
        'core/worker/scanner.ts',
        "new TaskHealth(parts.events, 'scan'), parts.idle)",
        "new TaskHealth(parts.events, 'scan'))",
      ),
    ],
    tests,
  },
  'idle-through-own-writes': {
    about: 'stays idle when its own process schedules',
    patches: [patch('core/worker/announcer.ts', 'this.worker?.idle.disturb();', '')],
    tests,
  },
  'idle-listens-again': {
    about: 'connects again at once when its session is ended while it is idle',
    patches: [
      patch(
        'core/cluster/listener.ts',
        'if (this.idle.isOn) return',
        'if (this.idle.isOn && this.#stopped) return',
      ),
    ],
    tests,
  },
  'idle-beside-a-claim': {
    about: 'does not look at what others have leased before it is idle',
    patches: [
      patch(
        'core/store/sql/nodes.sql.ts',
        "WHERE d.wake_at < 'infinity'",
        "WHERE d.wake_at < 'infinity' AND d.leased_by IS NULL",
      ),
    ],
    tests,
  },
  'idle-while-another-runs': {
    about: 'tells no idle node of what it schedules for itself, so that none looks when it dies',
    patches: [patch('core/worker/announcer.ts', '!isOwn || idleForMs !== null', '!isOwn')],
    tests,
  },
  'idle-past-its-time': {
    about: 'is idle for the whole time from when it hears of it, however late that is',
    patches: [patch('core/worker/loader.ts', 'Math.max(0, idleMs - tookMs)', 'idleMs')],
    tests,
  },
};
