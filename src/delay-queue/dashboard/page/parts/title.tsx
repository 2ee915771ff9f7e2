import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { words } from '../words/language.js';

interface TitleProps {
  text: string;
  children?: ComponentChildren;
  isUnseen?: boolean;
}

let isFirst = true;

/** The heading of a view. It gets the focus when the view opens, as on a new page. */
export function Title({ text, children, isUnseen = false }: TitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  useEffect(() => {
    document.title = words.value.titleOf(text);
  }, [text, words.value]);
  return (
    <h1 class={isUnseen ? 'unseen' : 'title'} tabIndex={-1} ref={heading}>
      {children ?? text}
    </h1>
  );
}
