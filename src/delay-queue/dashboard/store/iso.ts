import { asMs, type asText, epochMs } from '../../core/ops.js';

type TextColumn<Text extends string | null> = ReturnType<typeof asText<Text>>;

/** @param ms SQL for milliseconds since 1970 */
export function asIsoOfMs<Text extends string | null = string>(ms: string): TextColumn<Text> {
  const { read, ...column } = asMs<number | null>(ms);
  const iso = (text: string): string | null => {
    const value = read(text);
    return typeof value === 'number' ? new Date(value).toISOString() : null;
  };
  return { ...column, read: iso as (text: string) => Text };
}

/** An instant as the page reads it. */
export const asIso = <Text extends string | null = string>(instant: string): TextColumn<Text> =>
  asIsoOfMs<Text>(epochMs(instant));
