import cronstrue from 'cronstrue';

/** How many values a field has. A step that divides it continues evenly into the next hour or day. */
const SIZE = { second: 60, minute: 60, hour: 24, month: 12 };

/**
 * A cron expression in words, or undefined where the words would be wrong: a step that restarts early
 * (minutes 0 and 35 are not "every 35 minutes"), or a day of the month combined with a day of the week,
 * which reads as "and".
 *
 * @param locale one that has been imported, or 'en'
 */
export function cronSentence(cron: string, locale: string): string | undefined {
  const fields = cron.trim().split(/\s+/);
  const [second = '0', minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] =
    fields.length === 5 ? ['0', ...fields] : fields;
  const isEven = Object.entries({ second, minute, hour, month }).every(
    ([name, text]) => SIZE[name as keyof typeof SIZE] % cronStep(text) === 0,
  );
  const isOfDays = cronStep(day) > 1 || cronStep(weekday) > 1;
  const isEither = [day, weekday].every((text) => !/^[*?]$/.test(text));
  if (!cron.startsWith('@') && (!isEven || isOfDays || isEither)) return undefined;
  try {
    return cronstrue.toString(cron, { locale, use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}

const cronStep = (text: string): number => Number(/^\*\/(\d+)$/.exec(text)?.[1] ?? 1);
