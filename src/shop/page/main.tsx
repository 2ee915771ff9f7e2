import { render } from 'preact';
import { applyTheme } from '../../ui/theme.js';
import { watchFeed } from './feed/connection.js';
import { watchOwnOrders } from './feed/own-orders.js';
import { Page } from './parts/page.js';

applyTheme();
watchFeed();
watchOwnOrders();
render(<Page />, document.querySelector('#page')!);
