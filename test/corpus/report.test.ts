/**
 * What becomes of every field of the recorded answers: shown, carried or noted, but never lost without a word.
 * `npm run corpus:report` prints it, field by field.
 */

import { writeSync } from 'node:fs';
import type { Note } from '../../src/index.ts';
import { ChatDecoder } from '../../src/protocol/chat-completions/decoder.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { MessagesDecoder } from '../../src/upstreams/anthropic/decoder.ts';
import { ResponsesDecoder } from '../../src/upstreams/responses/decoder.ts';
import { describeShared, hasShared, listShared, readShared } from '../support/shared.ts';

type Fate = 'shown' | 'carried' | 'noted' | 'envelope' | 'fact' | 'failed' | 'lost';

const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** What says something: servers send many fields empty. */
function isSet(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === 0 || value === false) return false;
  return typeof value !== 'object' || Object.values(value).some(isSet);
}

/** What a field becomes that is read: for clients (shown), for the model or the host (carried), or reported to nobody: facts about the server are not what it says. */
const READ: Readonly<Record<string, Fate>> = {
  ...each('envelope', 'id object created type obfuscation p system_fingerprint choices'),
  ...each('shown', 'usage x_groq error citations search_results'),
  ...each('carried', 'model service_tier'),
  ...each('envelope', 'choices[].index choices[].delta choices[].message choices[].obfuscation'),
  ...each('shown', 'choices[].finish_reason choices[].logprobs choices[].usage'),
  ...each('shown', 'message.content message.refusal message.tool_calls message.function_call message.annotations'),
  ...each('shown', 'message.images message.audio message.reasoning message.reasoning_content message.executed_tools'),
  ...each('carried', 'message.reasoning_details message.extra_content'),
  ...each('envelope', 'message.role'),
  ...each('fact', 'provider timings time_info prompt_filter_results metadata usage_breakdown request_id'),
  ...each('fact', 'choices[].native_finish_reason choices[].content_filter_results choices[].content_filter_offsets'),
  ...each('fact', 'generationId latency_checkpoint cost venice_parameters seed temperature top_p stream_options'),
  ...each('fact', 'choices[].seed choices[].finish_details message.token_id message.provider_metadata message.name'),
};

function each(fate: Fate, names: string): Readonly<Record<string, Fate>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, fate]));
}

/** One answer: its parsed chunks or events. */
type Answer = readonly JsonObject[];

function answersIn(folder: string, ending: string): readonly Answer[] {
  return listShared(`corpus/${folder}`, ending)
    .filter((name) => !name.endsWith('.request.json'))
    .map((name) => answerIn(readShared(`corpus/${folder}/${name}`)));
}

function answerIn(text: string): Answer {
  if (text.trimStart().startsWith('{')) return [JSON.parse(text)];
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return data.flatMap((line) => {
    try {
      return [JSON.parse(line.slice('data:'.length))].filter(isRecord);
    } catch {
      return [];
    }
  });
}

/** The notes that reading the answer gives, whether or not it ends well. */
function notesOf(read: (note: (note: Note) => void) => void): string {
  const notes: string[] = [];
  try {
    read(({ message }) => void notes.push(message));
  } catch {
    // A recording may be an error, or broken off.
  }
  return notes.join('\n');
}

function chatNotes(chunks: Answer): string {
  return notesOf((note) => {
    const decoder = new ChatDecoder({ note });
    const events: ModelEvent[] = [];
    for (const chunk of chunks) decoder.take(chunk, events);
    decoder.end(events, true);
  });
}

/** How many recordings have the field, and what became of it in them. */
type Report = Map<string, Map<Fate, number>>;

function add(report: Report, name: string, fate: Fate): void {
  const fates = report.get(name) ?? new Map<Fate, number>();
  fates.set(fate, (fates.get(fate) ?? 0) + 1);
  report.set(name, fates);
}

function chatFields(chunks: Answer): ReadonlySet<string> {
  const names = new Set<string>();
  const addAll = (place: string, fields: JsonObject) => {
    for (const name of Object.keys(fields)) if (isSet(fields[name])) names.add(place + name);
  };
  for (const chunk of chunks) {
    addAll('', chunk);
    for (const choice of listOf(chunk.choices).filter(({ index = 0 }) => index === 0)) {
      addAll('choices[].', choice);
      for (const written of [choice.delta, choice.message]) if (isRecord(written)) addAll('message.', written);
    }
  }
  return names;
}

function reportChat(): Report {
  const report: Report = new Map();
  for (const chunks of [...answersIn('chat-stream', '.sse'), ...answersIn('chat-json', '.json')]) {
    const notes = chatNotes(chunks);
    const isFailure = chunks.some(({ error }) => error);
    for (const name of chatFields(chunks)) {
      // An error takes the place of the answer.
      const fate = READ[name] ?? (isFailure ? 'failed' : 'lost');
      add(report, name, isNamed(name, notes) ? 'noted' : fate);
    }
  }
  return report;
}

/** Whether the notes name the field, or something in it. */
function isNamed(name: string, notes: string): boolean {
  const names = notes.split(/[:,\s]+|\.$|\.\n/);
  return names.some(
    (each) =>
      each === name || (name.startsWith('message.') && each.startsWith(name) && /^[.[]/.test(each.slice(name.length))),
  );
}

const RESPONSES_ITEMS: Readonly<Record<string, Fate>> = each(
  'shown',
  'message reasoning function_call web_search_call image_generation_call',
);

/** By the types of items, and of annotations in them. */
function reportResponses(): Report {
  const report: Report = new Map();
  for (const events of [...answersIn('responses-stream', '.sse'), ...answersIn('responses-json', '.json')]) {
    const written: ModelEvent[] = [];
    const notes = notesOf((note) => {
      const decoder = new ResponsesDecoder(note);
      for (const event of events) decoder.take(event, written);
    });
    // Items of any other type are shown as they are.
    const natives = new Set(written.flatMap((event) => (event.type === 'native-end' ? [event.item.type] : [])));
    for (const { type, content } of itemsIn(events)) {
      const isNoted = notes.includes(`'${type}'`);
      const fate = RESPONSES_ITEMS[String(type)] ?? (natives.has(String(type)) ? 'shown' : 'lost');
      add(report, `item ${type}`, isNoted ? 'noted' : fate);
      const annotations = listOf(content).flatMap((part) => listOf(part.annotations));
      for (const annotation of annotations) add(report, `annotation ${annotation.type}`, 'shown');
    }
  }
  return report;
}

/** Up to the end of the first response: a recording of a tool's rounds holds several. */
function itemsIn(events: Answer): readonly JsonObject[] {
  const end = events.findIndex(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type)));
  const first = end < 0 ? events : events.slice(0, end + 1);
  const done = first.filter(({ type }) => type === 'response.output_item.done').flatMap(({ item }) => listOf([item]));
  return done.length > 0 ? done : first.flatMap(({ output }) => listOf(output));
}

const MESSAGES_BLOCKS: Readonly<Record<string, Fate>> = {
  ...each('shown', 'text thinking tool_use server_tool_use web_search_tool_result web_fetch_tool_result'),
  ...each('carried', 'redacted_thinking'),
};

/** By the types of blocks, and of citations in them. */
function reportMessages(): Report {
  const report: Report = new Map();
  for (const all of [...answersIn('anthropic-stream', '.sse'), ...answersIn('anthropic-json', '.json')]) {
    const end = all.findIndex(({ type }) => type === 'message_stop');
    const events = end < 0 ? all : all.slice(0, end + 1);
    const notes = notesOf((note) => {
      const decoder = new MessagesDecoder(note);
      const written: ModelEvent[] = [];
      for (const event of events) if (!decoder.done) decoder.take(event, written);
    });
    const fateOf = (type: unknown, read: Fate): Fate => (notes.includes(`'${type}'`) ? 'noted' : read);
    for (const { type } of blocksIn(events))
      add(report, `block ${type}`, fateOf(type, MESSAGES_BLOCKS[String(type)] ?? 'lost'));
    for (const { type } of citationsIn(events)) add(report, `citation ${type}`, fateOf(type, 'shown'));
  }
  return report;
}

function blocksIn(events: Answer): readonly JsonObject[] {
  return events.flatMap(({ content_block: block, content }) => [...listOf([block]), ...listOf(content)]);
}

function citationsIn(events: Answer): readonly JsonObject[] {
  const streamed = events.flatMap(({ delta }) => (isRecord(delta) ? listOf([delta.citation]) : []));
  return [...streamed, ...blocksIn(events).flatMap(({ citations }) => listOf(citations))];
}

/** Such as `noted 39`, for each fate, the most frequent field first. */
function tableOf(title: string, report: Report): string {
  const sum = (fates: ReadonlyMap<Fate, number>) => [...fates.values()].reduce((one, other) => one + other, 0);
  const rows = [...report].toSorted(([, one], [, other]) => sum(other) - sum(one));
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(
    ([name, fates]) => `  ${name.padEnd(width)}  ${[...fates].map(([fate, count]) => `${fate} ${count}`).join(', ')}`,
  );
  return [title, ...lines, ''].join('\n');
}

const say = (text: string) => process.env.REPORT === '1' && writeSync(1, `${text}\n`);

if (!hasShared) say('The recordings are not on this machine: there is nothing to report on.');

/** Content that no item holds, in all recordings: everything else of an answer is read, or a fact about its server. */
const NOTED = [
  'choices[].text',
  'message.annotations',
  'message.audio',
  'message.copilot_annotations',
  'message.thought_signature',
  'model',
  'moderation',
];

describeShared('the recorded answers', () => {
  it('[V-42] give notes for content alone', () => {
    const noted = [...reportChat()].filter(([, fates]) => fates.has('noted')).map(([name]) => name);
    expect(noted.sort()).toEqual(NOTED);
  });

  it.each([
    ['Chat Completions, by fields with something in them', reportChat, 50],
    ['Responses, by items and annotations', reportResponses, 5],
    ['Anthropic, by blocks and citations', reportMessages, 5],
  ])('[V-18] [V-42] lose nothing without a word: %s', (title, reportOf, least) => {
    const report = reportOf();
    say(tableOf(title, report));
    const lost = [...report].filter(([, fates]) => fates.has('lost')).map(([name]) => name);
    expect([report.size > least, lost]).toEqual([true, []]);
  });
});
