import { render } from 'preact';
import { watchFeed } from './feed/connection.js';
import { watchOwnOrders } from './feed/own-orders.js';
import { Page } from './parts/page.js';
import { applyTheme } from './theme.js';

applyTheme();
watchFeed();
watchOwnOrders();
render(<Page />, document.querySelector('#page')!);
