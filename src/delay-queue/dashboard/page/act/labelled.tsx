import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';

interface LabelledProps {
  label: ComponentChildren;
  hint?: string | null | undefined;
  /** The input, with the attributes that tie it to both. */
  children: (its: { id: string; 'aria-describedby': string | undefined }) => VNode;
}

export function Labelled({ label, hint, children }: LabelledProps) {
  const id = useId();
  const hintId = hint ? `${id}-hint` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': hintId })}
      {hint && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}
