import { render } from 'preact';
import type { Session } from '../contract.js';

const session = (await (await fetch('api/session')).json()) as Session;
render(<h1>{session.who}</h1>, document.querySelector('#page')!);
