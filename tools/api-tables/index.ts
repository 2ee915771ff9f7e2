/** `npm run docs:tables`: writes the tables of `docs/api.md` from the declarations and their docstrings. */
import { writeFileSync } from 'node:fs';
import { generatedPage, PAGE, writtenPage } from './page.js';

const page = await generatedPage();
const isNew = page !== writtenPage();
if (isNew) writeFileSync(PAGE, page);
process.stdout.write(`docs/api.md: ${isNew ? 'written' : 'is as the code says'}\n`);
