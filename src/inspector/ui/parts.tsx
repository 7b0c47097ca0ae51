/** Small parts of pages. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count, visible } from './format.tsx';

const SIGNS: Readonly<Record<string, string>> = {
  running: '◌',
  completed: '●',
  incomplete: '◐',
  failed: '✕',
  cancelled: '○',
  refused: '✕',
  ok: '●',
  ready: '●',
  failing: '✕',
  unused: '○',
  idle: '○',
  connecting: '◌',
};

/** A state as a word, a sign and a colour. */
export function Status({ of }: { readonly of: string }) {
  return (
    <span class={`status ${Object.hasOwn(SIGNS, of) ? of : ''}`}>
      <span aria-hidden="true">{SIGNS[of] ?? '·'} </span>
      {visible(of)}
    </span>
  );
}

/** Untrusted text: it keeps its line breaks, and cannot change the direction or the width of the page. */
export function Text({ of, class: name = '' }: { readonly of: string; readonly class?: string }) {
  return (
    <bdi dir="auto" class={`text ${name}`}>
      {visible(of)}
    </bdi>
  );
}

interface ScrollProps {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A box that scrolls, and that the keyboard can reach. */
export function Scroll({ label, class: name = 'box', children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by the keyboard.
    <section class={name} tabIndex={0} aria-label={visible(label)} dir="ltr">
      {children}
    </section>
  );
}

/** Characters that are shown until the reader asks for all of them. */
const SHOWN = 20_000;

/** A long text in a box that scrolls. */
export function Box({ of, label, cut = 0 }: { readonly of: string; readonly label: string; readonly cut?: number }) {
  const [isWhole, setWhole] = useState(false);
  const text = isWhole || of.length <= SHOWN ? of : of.slice(0, SHOWN);
  return (
    <>
      <Scroll label={label}>
        <pre>{text === '' ? <span class="faint">nothing</span> : visible(text)}</pre>
      </Scroll>
      {text.length < of.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {count(of.length - text.length)} more characters
        </button>
      )}
      {cut > 0 && <p class="faint">{count(cut)} more were not kept.</p>}
    </>
  );
}

/** Names and values. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Part of a page that is rendered only when it is opened. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  readonly title: ComponentChildren;
  readonly isOpen?: boolean;
  readonly children: () => ComponentChildren;
}) {
  const [shows, setShows] = useState(isOpen);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setShows(currentTarget.open)}>
      <summary>{title}</summary>
      {shows && <div class="fold">{children()}</div>}
    </details>
  );
}

/** Copies a text to the clipboard, and reports whether that worked. */
export function Copy({ of, children }: { readonly of: () => string; readonly children: string }) {
  const [outcome, setOutcome] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(of()).then(
      () => setOutcome('Copied.'),
      () => setOutcome('The browser does not allow it.'),
    );
  return (
    <>
      <button type="button" onClick={copy}>
        {children}
      </button>
      <span role="status" class="faint">
        {outcome}
      </span>
    </>
  );
}

/** What a page shows before its data arrives, or if it cannot be loaded. */
export function Waiting({ error }: { readonly error: string | undefined }) {
  return (
    <p role={error ? 'alert' : undefined} class={error ? 'error' : 'faint'}>
      {error ? visible(error) : 'Loading …'}
    </p>
  );
}
