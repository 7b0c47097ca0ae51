/** Guards a model's answer between the upstream and the machine, so that what is stored is what is shown. */

import { bytesOfItem } from '../../../ports/limits.ts';
import { moveCitations } from '../../../protocol/annotations.ts';
import { mapFetchedPage } from '../../../protocol/anthropic/fetched-page.ts';
import { outputTooLarge } from '../../../protocol/errors.ts';
import type { ModelEvent } from '../../../protocol/events.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';
import { BODY, PIECE } from '../texts/positions.ts';
import { holdsTexts, mapTexts } from '../texts/walk.ts';
import type { Track } from '../tracks/text-track.ts';
import { guardError } from './guarded-error.ts';

type Delta = Extract<ModelEvent, { type: 'text-delta' | 'refusal-delta' | 'reasoning-delta' }>;
type CallDelta = Extract<ModelEvent, { type: 'tool-call-delta' }>;
type AnnotationEvent = Extract<ModelEvent, { type: 'annotation' }>;

const NO_NAMES: ReadonlySet<string> = new Set();
const PLACES = { 'text-delta': 'text', 'refusal-delta': 'refusal', 'reasoning-delta': 'reasoning' } as const;

/** The text that is being written, and the citations that wait for it. */
interface OpenText {
  readonly type: Delta['type'];
  readonly track: Track;
  readonly citations: AnnotationEvent[];
}

/** One answer of the model. */
export class GuardedEvents {
  private readonly guards: RequestGuards;
  /** Whether a call of this name is shown at once, and so ends the text before it. */
  private readonly opensItem: (name: string) => boolean;
  private readonly calls = new Map<number, Track>();
  private text: OpenText | undefined;
  private out: ModelEvent[] = [];
  /** What is left of the limit for citations that wait. Whatever passes is limited by its reader. */
  private citationBudget: number;
  /** Whether a guard has ended the answer. */
  isBlocked = false;

  /** `maxCharacters` limits the citations that wait for a text before them. */
  constructor(
    guards: RequestGuards,
    opensItem: (name: string) => boolean,
    maxCharacters: number = Number.POSITIVE_INFINITY,
  ) {
    this.guards = guards;
    this.opensItem = opensItem;
    this.citationBudget = maxCharacters;
  }

  /** The events that may pass on. Rejects with `guard_failed`. */
  async take(batch: readonly ModelEvent[]): Promise<readonly ModelEvent[]> {
    this.out = [];
    try {
      for (const event of batch) await this.takeOne(event);
    } catch (error) {
      if (!(error instanceof GuardBlocked)) throw error;
      this.isBlocked = true;
      this.out.push({ type: 'finish', reason: 'content_filter' });
    }
    return this.out;
  }

  failure(error: unknown): Promise<unknown> {
    return guardError(error, this.guards);
  }

  private async takeOne(event: ModelEvent): Promise<void> {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
      case 'reasoning-delta':
        return this.takeText(event);
      case 'tool-call-delta':
        return this.takeCall(event);
      case 'annotation':
        return this.takeCitation(event);
      case 'search-start':
      case 'search-end':
        await this.endText(event.type === 'search-start');
        return this.pass(await this.guardSearch(event));
      case 'native-start':
      case 'native-end':
        await this.endText(true);
        return this.pass({ ...event, item: await this.guardTexts(event.item, 'item') });
      case 'native-progress':
        // Its texts come whole with the end of the item.
        if (this.guards.onlyObserves || !holdsTexts(event.event, BODY, NO_NAMES)) this.pass(event);
        return;
      case 'finish':
        await this.endText(true);
        await this.endCalls();
        // The client's own text, of which the model server has a placeholder.
        if (event.stopSequence === undefined) return this.pass(event);
        return this.pass({ ...event, stopSequence: await this.guards.restored(event.stopSequence) });
      case 'usage':
      case 'model-info':
        return this.pass(event);
      default:
        await this.endText(true);
        return this.pass(event);
    }
  }

  private pass(event: ModelEvent): void {
    this.out.push(event);
  }

  /** Texts of one kind form one text until something else is shown. */
  private async takeText(event: Delta): Promise<void> {
    const { type, text } = event;
    if (this.guards.onlyObserves) this.pass(event);
    if (text === '') return;
    if (this.text?.type !== type) await this.endText(true);
    this.text ??= this.openText(type);
    this.show(type, await this.text.track.write(text));
    await this.showCitations();
  }

  private openText(type: Delta['type']): OpenText {
    return { type, track: this.guards.textTrack(PLACES[type]), citations: [] };
  }

  /** Without log probabilities, which would reveal the text. */
  private show(type: Delta['type'], text: string): void {
    if (text !== '' && !this.guards.onlyObserves) this.pass({ type, text });
  }

  private async endText(isOver: boolean): Promise<void> {
    const { text } = this;
    if (!text || !isOver) return;
    this.show(text.type, await text.track.end());
    await this.showCitations();
    this.text = undefined;
  }

  private async takeCall(event: CallDelta): Promise<void> {
    let track = this.calls.get(event.call);
    if (!track) {
      if (this.opensItem(event.name ?? '')) await this.endText(true);
      track = this.guards.textTrack('arguments');
      this.calls.set(event.call, track);
    }
    const text = await track.write(event.arguments);
    if (this.guards.onlyObserves) return this.pass(event);
    const isOpening = event.name !== undefined || event.id !== undefined;
    if (isOpening || text !== '' || event.arguments === '') this.pass({ ...event, arguments: text });
  }

  private async endCalls(): Promise<void> {
    for (const [call, track] of this.calls) {
      const text = await track.end();
      if (text !== '' && !this.guards.onlyObserves) this.pass({ type: 'tool-call-delta', call, arguments: text });
    }
    this.calls.clear();
  }

  /** Waits while text before it is held back. Throws `output_too_large`. */
  private async takeCitation(event: AnnotationEvent): Promise<void> {
    if (this.text?.type !== 'text-delta') await this.endText(true);
    this.text ??= this.openText('text-delta');
    const { annotation, atEnd, ...rest } = event;
    if (this.text.track.holds) {
      this.citationBudget -= JSON.stringify(annotation).length + bytesOfItem(this.text.citations.length);
      if (this.citationBudget < 0) throw outputTooLarge('a response');
    }
    this.text.citations.push({
      ...rest,
      annotation: atEnd ? moveCitations(annotation, () => this.text?.track.position ?? 0) : annotation,
    });
    await this.showCitations();
  }

  private async showCitations(): Promise<void> {
    const { text } = this;
    if (!text || text.track.holds) return;
    for (const event of text.citations.splice(0)) {
      const moved = moveCitations(event.annotation, (index) => text.track.placeOf(index));
      this.pass({ ...event, annotation: await this.guardTexts(moved, 'citation') });
    }
  }

  private async guardSearch<Event extends Extract<ModelEvent, { type: 'search-start' | 'search-end' }>>(
    event: Event,
  ): Promise<Event> {
    const { type, search, ...rest } = event;
    const { state, ...shown } = { state: undefined, ...rest };
    const guarded = await this.guardTexts(shown, 'search');
    if (state === undefined) return Object.assign({ type, search }, guarded) as unknown as Event;
    // The state belongs to its upstream, and is sealed for everybody else, but for a page that clients are shown whole.
    const kept = await mapFetchedPage(state, (page) => this.guardTexts(page, 'search'));
    return Object.assign({ type, search }, guarded, { state: kept }) as unknown as Event;
  }

  private async guardTexts<Value>(value: Value, place: string): Promise<Value> {
    // The cast: texts are replaced by texts.
    return (await mapTexts(value, '', PIECE, { map: (text) => this.guards.output(text, place) })) as Value;
  }
}
