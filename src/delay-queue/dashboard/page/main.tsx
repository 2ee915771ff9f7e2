import './shell/language-tag.js';
import { render } from 'preact';
import { applyTheme } from '../../../ui/theme.js';
import { watchAddress } from './address/address.js';
import { watchLive } from './api/live.js';
import { watchKeyboard } from './shell/keyboard.js';
import { Page } from './shell/page.js';

applyTheme();
watchAddress();
watchLive();
watchKeyboard();
render(<Page />, document.querySelector('#page')!);
