/** Pages that are listed beside an answer and not in its text, which some servers repeat in every chunk. */

import { citationAtEnd } from '../annotations.ts';
import type { ModelEvent } from '../events.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Far more than any search finds. */
const MAX_PAGES = 1024;
const MAX_CHARACTERS = 1024 * 1024;

/** The pages of one model call, each once. */
export class Citations {
  /** Titles by URL. */
  private readonly pending = new Map<string, string>();
  private readonly emitted = new Set<string>();
  private characters = 0;

  /** Whether there are pages to emit. */
  get waiting(): boolean {
    return this.pending.size > 0;
  }

  /** Takes the pages that the chunk names; false if there is no room for all of them. */
  take({ citations, search_results: results }: JsonObject): boolean {
    let isWhole = true;
    // The sources that the text numbers come first.
    if (Array.isArray(citations)) for (const page of citations) isWhole = this.add(page) && isWhole;
    if (Array.isArray(results)) for (const page of results) isWhole = this.add(page) && isWhole;
    return isWhole;
  }

  /** Takes one page, by URL or with its title; false if there is no room for it. */
  add(page: unknown): boolean {
    const { url, title } = isRecord(page) ? page : { url: page, title: '' };
    if (typeof url !== 'string' || url === '' || this.emitted.has(url)) return true;
    const pendingTitle = this.pending.get(url);
    const newTitle = pendingTitle || (typeof title === 'string' ? title : '');
    if (pendingTitle === newTitle) return true;
    if (!this.hasRoom(url.length + newTitle.length, pendingTitle === undefined)) return false;
    this.pending.set(url, newTitle);
    return true;
  }

  /** Records that the text itself has cited the page. */
  markCited(url: string): void {
    if (this.emitted.has(url) || !this.hasRoom(url.length, true)) return;
    this.pending.delete(url);
    this.emitted.add(url);
  }

  /** Emits them all. */
  emit(events: ModelEvent[]): void {
    for (const [url, title] of this.pending) {
      events.push(citationAtEnd(url, title));
      this.emitted.add(url);
    }
    this.pending.clear();
  }

  private hasRoom(characters: number, isNewPage: boolean): boolean {
    const isFull = isNewPage && this.pending.size + this.emitted.size >= MAX_PAGES;
    if (isFull || this.characters + characters > MAX_CHARACTERS) return false;
    this.characters += characters;
    return true;
  }
}
