import { asDate, type asText, epochMs } from '../../core/ops.js';

type TextColumn<Text extends string | null> = ReturnType<typeof asText<Text>>;

/** @param ms SQL for milliseconds since 1970 */
export function asIsoOfMs<Text extends string | null = string>(ms: string): TextColumn<Text> {
  const { read, ...column } = asDate<Date | null>(ms);
  return { ...column, read: (...answer) => (read(...answer)?.toISOString() ?? null) as Text };
}

/** An instant as the page reads it. */
export const asIso = <Text extends string | null = string>(instant: string): TextColumn<Text> =>
  asIsoOfMs<Text>(epochMs(instant));
