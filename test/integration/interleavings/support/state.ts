/** What a key is in before the actors begin, or afterwards. A lease is the `holder`'s. */
export type State = 'nothing' | 'due' | 'running' | 'lease over' | 'dead';

/** The node that holds the lease before the actors begin. */
export const HOLDER = 'holder';
