import { render } from 'preact';
import { watchFeed } from './feed/connection.js';
import { Page } from './parts/page.js';
import { applyTheme } from './theme.js';

applyTheme();
watchFeed();
render(<Page />, document.querySelector('#page')!);
