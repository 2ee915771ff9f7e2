import { languagesOf } from '../../../../ui/language.js';
import { en, type Words } from './en.js';
import { zh } from './zh.js';

export const languages = languagesOf<Words>({ en, zh });
export const { words } = languages;
