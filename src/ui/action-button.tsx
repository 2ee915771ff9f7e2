import type { ComponentChildren } from 'preact';
import type { Deed } from './deed.js';

interface ActionButtonProps {
  deed: Pick<Deed<unknown>, 'busy' | 'run'>;
  /** Which button of the deed this is. */
  name: string;
  ask: () => Promise<unknown>;
  look?: 'primary' | 'plain' | 'danger';
  label?: string | undefined;
  off?: boolean;
  children: ComponentChildren;
}

/** Keeps its place and the focus while the server answers, and shows that it is busy. */
export function ActionButton(props: ActionButtonProps) {
  const { deed, name, ask, look = 'plain', label, off = false, children } = props;
  const isBusy = deed.busy.value === name;
  return (
    <button
      type="button"
      class={`button ${look}`}
      aria-label={label}
      aria-busy={isBusy}
      aria-disabled={off}
      onClick={() => {
        if (!off) void deed.run(name, ask);
      }}
    >
      {children}
    </button>
  );
}
