import cronstrue from 'cronstrue';

/** How many values a field has from its lowest one on: a step that divides it passes into the next hour or day evenly. */
const SIZE = { second: 60, minute: 60, hour: 24, month: 12 };

/**
 * A cron text in words, or undefined where the words would be wrong: a step that starts anew before it
 * is through (minute 0 and 35 are not "every 35 minutes"), and a day of the month or of the week, which
 * reads as both.
 *
 * @param locale one that has been imported, or 'en'
 */
export function cronSentence(cron: string, locale: string): string | undefined {
  const fields = cron.trim().split(/\s+/);
  const [second = '0', minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] =
    fields.length === 5 ? ['0', ...fields] : fields;
  const isEven = Object.entries({ second, minute, hour, month }).every(
    ([name, text]) => SIZE[name as keyof typeof SIZE] % stepOf(text) === 0,
  );
  const isOfDays = stepOf(day) > 1 || stepOf(weekday) > 1;
  const isEither = [day, weekday].every((text) => !/^[*?]$/.test(text));
  if (!cron.startsWith('@') && (!isEven || isOfDays || isEither)) return undefined;
  try {
    return cronstrue.toString(cron, { locale, use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}

const stepOf = (text: string): number => Number(/^\*\/(\d+)$/.exec(text)?.[1] ?? 1);
