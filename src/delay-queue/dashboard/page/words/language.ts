import { languagesOf } from '../../../../ui/language.js';
import { en, type Words, zh } from './words.js';

export const languages = languagesOf<Words>({ en, zh });
export const { words } = languages;
