import type { HintListener } from '../cluster/listener.js';
import type { Hearing } from '../cluster/session-probe.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { DelayEvents } from '../delay/delay.events.js';
import type { Loader } from '../intake/loader.js';

/** Loads without LISTEN come this often: the loader alone has to find what is due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

interface Parts {
  listener: HintListener;
  loader: Loader;
  connections: EngineConnections;
  events: DelayEvents;
  options: { loadEveryMs: number };
}

/** Does what follows from whether LISTEN works, now and when more is learnt of it. */
export function followHearing({ listener, loader, connections, events, options }: Parts): void {
  const follow = (hearing: Hearing): void => {
    if (hearing === 'heard') connections.prepareStatements();
    if (hearing !== 'silent') return;
    loader.loadEvery(Math.min(options.loadEveryMs, LOAD_WITHOUT_LISTEN_MS));
    events.emit('advice', {
      message:
        'LISTEN does not work on this connection (a pooler in transaction mode?); ' +
        `delays that other nodes schedule are loaded every ${LOAD_WITHOUT_LISTEN_MS} ms instead`,
    });
  };
  follow(listener.hearing);
  listener.learnt.on(follow);
}
