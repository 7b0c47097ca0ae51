/** Small parts of pages. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, showHidden } from './format.tsx';

/** The tone of each state. */
const TONES: Readonly<Record<string, string>> = {
  running: 'busy',
  connecting: 'busy',
  completed: 'good',
  ok: 'good',
  ready: 'good',
  closed: 'good',
  incomplete: 'warm',
  cancelled: 'warm',
  'half-open': 'warm',
  failed: 'bad',
  refused: 'bad',
  failing: 'bad',
  open: 'bad',
};

/** A state as a word, a sign and a colour. */
export function Status({ of }: { readonly of: string }) {
  const tone = Object.hasOwn(TONES, of) ? TONES[of] : 'calm';
  return <span class={`status ${tone} ${Object.hasOwn(TONES, of) ? of : ''}`}>{showHidden(of)}</span>;
}

/** How many colours tenants have; style.css has one rule for each. */
const HUES = 8;

/** A tenant's name, which has the same colour everywhere. */
export function Tenant({ of }: { readonly of: string }) {
  if (of === '') return <span class="faint">–</span>;
  let sum = 0;
  for (const character of of.slice(0, 64)) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return (
    <bdi class={`tenant hue-${sum % HUES}`} title={showHidden(of)}>
      {showHidden(of)}
    </bdi>
  );
}

/** Untrusted text: it keeps its line breaks, and cannot change the direction or the width of the page. */
export function Text({ of, class: name = '' }: { readonly of: string; readonly class?: string }) {
  return (
    <bdi dir="auto" class={`text ${name}`}>
      {showHidden(of)}
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
    <section class={name} tabIndex={0} aria-label={showHidden(label)} dir="ltr">
      {children}
    </section>
  );
}

/** Characters that are shown until the reader asks for all of them. */
const SHOWN = 20_000;

interface BoxProps {
  readonly of: string;
  readonly label: string;
  readonly cut?: number;
}

/** A long text in a box that scrolls. */
export function Box({ of, label, cut = 0 }: BoxProps) {
  const [isWhole, setWhole] = useState(false);
  const text = isWhole || of.length <= SHOWN ? of : of.slice(0, SHOWN);
  return (
    <>
      <Scroll label={label}>
        <pre>{text === '' ? <span class="faint">nothing</span> : showHidden(text)}</pre>
      </Scroll>
      {text.length < of.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {formatCount(of.length - text.length)} more characters
        </button>
      )}
      {cut > 0 && <p class="faint small">{formatCount(cut)} more were not kept.</p>}
    </>
  );
}

/** One number, with what it is. */
export interface Stat {
  readonly name: string;
  readonly value: ComponentChildren;
  /** What the number is made of. */
  readonly note?: string | undefined;
  readonly isBad?: boolean;
}

/** The numbers that matter most on a page. */
export function Stats({ of }: { readonly of: readonly Stat[] }) {
  return (
    <dl class="stats">
      {of.map(({ name, value, note, isBad }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={isBad ? 'bad' : ''}>
            <span class="value">{value}</span>
            {note && <span class="note">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
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

interface ChoiceProps<Name extends string> {
  readonly label: string;
  readonly of: readonly Name[];
  readonly value: Name;
  readonly onChange: (name: Name) => void;
}

let groups = 0;

/** One of a few views. */
export function Choice<Name extends string>({ label, of, value, onChange }: ChoiceProps<Name>) {
  const [group] = useState(() => {
    groups += 1;
    return `choice-${groups}`;
  });
  return (
    <fieldset class="choice">
      <legend class="hidden">{label}</legend>
      {of.map((each) => (
        <label key={each}>
          <input type="radio" name={group} checked={value === each} onChange={() => onChange(each)} />
          <span>{each}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface FoldProps {
  readonly title: ComponentChildren;
  readonly isOpen?: boolean;
  readonly class?: string;
  readonly onToggle?: (isOpen: boolean) => void;
  readonly children: () => ComponentChildren;
}

/** Part of a page that is rendered only when it is opened. */
export function Fold({ title, isOpen = false, class: name = '', onToggle, children }: FoldProps) {
  const [shows, setShows] = useState(isOpen);
  const toggle = (opened: boolean) => {
    setShows(opened);
    onToggle?.(opened);
  };
  return (
    <details class={name} open={isOpen} onToggle={({ currentTarget }) => toggle(currentTarget.open)}>
      <summary>{title}</summary>
      {shows && <div class="fold">{children()}</div>}
    </details>
  );
}

interface CopyProps {
  readonly of: () => string;
  readonly children: string;
  readonly class?: string;
}

/** Copies a text to the clipboard, and reports whether that worked. */
export function Copy({ of, children, class: name = '' }: CopyProps) {
  const [outcome, setOutcome] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(of()).then(
      () => setOutcome('Copied'),
      () => setOutcome('The browser does not allow it'),
    );
  return (
    <span class="copy">
      <button type="button" class={name} onClick={copy}>
        {children}
      </button>
      <span role="status" class="faint small">
        {outcome}
      </span>
    </span>
  );
}

/** What a page shows before its data arrives, or if it cannot be loaded. */
export function Waiting({ error }: { readonly error: string | undefined }) {
  return (
    <p role={error ? 'alert' : undefined} class={error ? 'problem' : 'faint'}>
      {error ? showHidden(error) : 'Loading …'}
    </p>
  );
}
