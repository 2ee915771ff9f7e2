import { Processes, type ProcessEvent, type ProcessState } from '../shop/processes/processes.js';

/** The processes of a supervised shop, as the supervisor reports them to one of them. */
export class SupervisedProcesses extends Processes {
  #list: readonly ProcessState[] = [];
  #events: readonly ProcessEvent[] = [];

  constructor(
    readonly self: string,
    readonly shopStartedAt: Date,
    private readonly askToKill: (name: string) => void,
  ) {
    super();
  }

  list(): readonly ProcessState[] {
    return this.#list;
  }

  events(): readonly ProcessEvent[] {
    return this.#events;
  }

  take(list: readonly ProcessState[], events: readonly ProcessEvent[]): void {
    this.#list = list;
    this.#events = events;
  }

  kill(name: string): void {
    this.askToKill(name);
  }
}
