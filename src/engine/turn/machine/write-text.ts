/** Writes text: messages and reasoning, their parts and deltas. */

import { bytesOfItem } from '../../../ports/limits.ts';
import { moveCitations } from '../../../protocol/annotations.ts';
import { grow, wholeText } from '../../../protocol/grown-text.ts';
import { outputItemId } from '../../../protocol/ids.ts';
import { thoughtText } from '../../../protocol/item-text.ts';
import type { Annotation, ItemStatus, LogProb, OutputItem, Part, PartType } from '../../../protocol/items.ts';
import { logProbsIn, logProbsText } from '../../../protocol/json/log-probs.ts';
import { SharedList } from '../data/shared-list.ts';
import { readMarks } from './cited-files.ts';
import { citationsIn } from './cited-pages.ts';
import type { Draft, OpenPart, Writing } from './state.ts';

/**
 * Log probabilities count with this fraction of their length: a legitimate answer has two kilobytes of them per token.
 */
const LOGPROBS_SHARE = 8;
const NOTHING: SharedList<never> = new SharedList();

type WritingPart = Writing & { part: OpenPart };

/** Adds text to the part of this type, opening item and part if needed. */
export function writeText(draft: Draft, type: PartType, text: string, about: readonly LogProb[] | string = ''): void {
  const logprobs = typeof about === 'string' ? about : logProbsText(about);
  if (text === '' && logprobs === '') return;
  const writing = openPart(draft, type);
  if (type === 'output_text' && draft.files.size > 0) writeMarked(draft, writing, text, logprobs);
  else addText(draft, writing, text, logprobs);
}

/** The most files that one text cites. */
const MAX_CITATIONS = 256;

/** The marks of citations are taken out of the text; what may become one is held back until the model goes on. */
function writeMarked(draft: Draft, writing: WritingPart, text: string, logprobs: string): void {
  const { part } = writing;
  const { pieces, held } = readMarks(part.held + text, draft.files);
  part.held = held;
  // Whatever became of their text: clients count them.
  if (logprobs !== '') addText(draft, writing, '', logprobs);
  for (const piece of pieces) {
    if (typeof piece === 'string') addText(draft, writing, piece, '');
    else if (part.annotations.size < MAX_CITATIONS)
      annotate(draft, { type: 'file_citation', file_id: piece.id, filename: piece.filename, index: 0 }, true);
  }
}

function addText(draft: Draft, writing: WritingPart, text: string, logprobs: string): void {
  const { part } = writing;
  grow(part, text);
  if (logprobs !== '') {
    const comma = part.logprobs ? ',' : '';
    part.logprobs ??= { text: '', tail: '' };
    grow(part.logprobs, comma + logprobs);
  }
  draft.events.push({
    type: 'part-delta',
    sequence: draft.sequence++,
    index: writing.index,
    itemId: writing.id,
    partIndex: part.index,
    part: part.type,
    text,
    logprobs,
  });
  draft.bytes += Buffer.byteLength(text) + logprobs.length / LOGPROBS_SHARE;
}

/** Adds a citation to the text; `atEnd` places it at the current end of the text. */
export function annotate(draft: Draft, citation: Annotation, atEnd = false): void {
  const { index, id, part } = openPart(draft, 'output_text');
  const end = part.text.length + part.tail.length;
  const annotation = atEnd ? moveCitations(citation, () => end) : citation;
  draft.events.push({
    type: 'annotation',
    sequence: draft.sequence++,
    index,
    itemId: id,
    partIndex: part.index,
    annotationIndex: part.annotations.size,
    annotation,
  });
  part.annotations = part.annotations.added(annotation);
  draft.bytes += annotationBytes(annotation);
  countItem(draft);
}

/** The next text begins another message. The message becomes an item only once it has text. */
export function startMessage(draft: Draft, phase: string | undefined): void {
  if (draft.writing?.kind === 'message') closeWriting(draft, 'completed');
  draft.nextPhase = phase;
}

function annotationBytes(annotation: Annotation): number {
  if (annotation.type === 'url_citation')
    return Buffer.byteLength(annotation.url) + Buffer.byteLength(annotation.title);
  const container = annotation.type === 'file_citation' ? '' : annotation.container_id;
  return Buffer.byteLength(annotation.file_id) + Buffer.byteLength(annotation.filename) + Buffer.byteLength(container);
}

/** Closes the message or reasoning item that is being written, if one is; `state` continues a thought. */
export function closeWriting(draft: Draft, status: ItemStatus, state?: unknown): void {
  const { writing } = draft;
  if (!writing) return;
  closePart(draft, writing);
  draft.writing = undefined;
  const item = writtenItem(draft, writing, status);
  // What was cut off is no thought that could be given back.
  const sealed = status === 'completed' ? sealedThought(draft, item, state) : undefined;
  if (sealed !== undefined) draft.bytes += Buffer.byteLength(sealed);
  closeItem(draft, writing.index, sealed === undefined ? item : Object.assign(item, { encrypted_content: sealed }));
}

/** A thought and its state, or the one that there is, as the plan wants them sealed; undefined if it does not. */
function sealedThought({ plan }: Draft, item: OutputItem, state: unknown): string | undefined {
  if (item.type !== 'reasoning') return undefined;
  const { seal, sealThought } = plan;
  const text = sealThought ? thoughtText(item) : '';
  if (sealThought && text !== '') return sealThought(text, seal ? state : undefined);
  return state === undefined ? undefined : seal?.(state);
}

/**
 * Closes one reasoning item, which may have no readable text, and keeps the opaque provider state that continues it.
 */
export function closeReasoning(draft: Draft, state: unknown): void {
  if (draft.plan.seal && state !== undefined) openItem(draft, 'reasoning');
  if (draft.writing?.kind === 'reasoning') closeWriting(draft, 'completed', state);
}

/** Emits a new item at the end of the output. */
export function announce(draft: Draft, item: OutputItem): void {
  const index = draft.output.size;
  draft.output = draft.output.added(item);
  countItem(draft);
  draft.events.push({ type: 'item-start', sequence: draft.sequence++, index, item });
}

/** Counts an item, a part, a citation or a call, regardless of its content. */
export function countItem(draft: Draft): void {
  draft.items += 1;
  draft.bytes += bytesOfItem(draft.items);
}

/** Emits an item's end. */
export function closeItem(draft: Draft, index: number, item: OutputItem): void {
  draft.output = draft.output.with(index, item);
  draft.events.push({ type: 'item-end', sequence: draft.sequence++, index, item });
}

/** The id of the next item. */
export function nextItemId(draft: Draft, prefix: string): string {
  return outputItemId(prefix, draft.plan.seed, draft.output.size, draft.round);
}

/** The item being written with an open part of this type, opened if needed. */
function openPart(draft: Draft, type: PartType): WritingPart {
  const writing = openItem(draft, type === 'output_text' || type === 'refusal' ? 'message' : 'reasoning');
  if (writing.part?.type === type) return writing as WritingPart;
  closePart(draft, writing);
  const nothing = { text: '', tail: '', held: '', annotations: NOTHING, logprobs: undefined };
  const part: OpenPart = { type, index: writing.parts.size, ...nothing };
  countItem(draft);
  draft.events.push({
    type: 'part-start',
    sequence: draft.sequence++,
    index: writing.index,
    itemId: writing.id,
    partIndex: part.index,
    part: wholePart(part),
  });
  return Object.assign(writing, { part });
}

function openItem(draft: Draft, kind: Writing['kind']): Writing {
  if (draft.writing?.kind === kind) return draft.writing;
  closeWriting(draft, 'completed');
  const id = nextItemId(draft, kind === 'message' ? 'msg' : 'rs');
  const phase = kind === 'message' ? draft.nextPhase : undefined;
  if (kind === 'message') draft.nextPhase = undefined;
  draft.bytes += Buffer.byteLength(phase ?? '');
  draft.writing = { kind, index: draft.output.size, id, phase, parts: NOTHING, part: undefined };
  announce(draft, writtenItem(draft, draft.writing, 'in_progress'));
  return draft.writing;
}

function writtenItem(draft: Draft, writing: Writing, status: ItemStatus): OutputItem {
  const { id, kind, phase } = writing;
  const parts = writing.parts.from(0);
  if (kind === 'message') {
    const message = { id, type: 'message', status, role: 'assistant', content: parts } as const;
    return phase === undefined ? message : { ...message, phase };
  }
  if (draft.plan.reasoning === 'summary_text') return { id, type: 'reasoning', status, summary: parts };
  return { id, type: 'reasoning', status, summary: [], content: parts };
}

function wholePart(part: OpenPart): Part {
  const { type, annotations, logprobs } = part;
  const text = wholeText(part);
  if (type === 'refusal') return { type, refusal: text };
  if (type === 'output_text')
    return { type, text, annotations: annotations.from(0), logprobs: logprobs ? logProbsIn(wholeText(logprobs)) : [] };
  return { type, text };
}

function closePart(draft: Draft, writing: Writing): void {
  const { part } = writing;
  if (!part) return;
  // What was held back did not become a mark.
  if (part.held !== '') addText(draft, { ...writing, part }, part.held, '');
  // Links to pages that this server has found become citations, once the text is whole.
  if (part.type === 'output_text' && draft.pages.size > 0)
    for (const citation of citationsIn(wholeText(part), draft.pages)) annotate(draft, citation);
  const whole = wholePart(part);
  const place = { index: writing.index, itemId: writing.id, partIndex: part.index };
  const logprobs = whole.type === 'output_text' ? logProbsText(whole.logprobs) : '';
  const ended = { ...place, part: part.type, text: wholeText(part), logprobs };
  draft.events.push({ type: 'text-end', sequence: draft.sequence++, ...ended });
  draft.events.push({ type: 'part-end', sequence: draft.sequence++, ...place, part: whole });
  writing.parts = writing.parts.added(whole);
  writing.part = undefined;
}
