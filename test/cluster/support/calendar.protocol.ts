/** What the parent tells `fixtures/calendar.ts` at its start. */
export interface CalendarSetup {
  url: string;
  /** Instants to schedule for, milliseconds since 1970. */
  instantsMs: number[];
  /** How long a delay is to wait that crosses a change of the clocks. */
  stretchMs: number;
}

/** What it tells: due times as the methods answered them. */
export interface CalendarMessage {
  zone: string;
  /** Minutes behind UTC of each instant in the zone of the process. */
  offsets: number[];
  at: number[];
  afterMs: number;
  extendedMs: number;
  foundMs: number;
  soonMs: number;
  firedMs: number;
  historyMs: number;
  latenessMs: number;
}
