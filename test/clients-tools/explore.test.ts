import OpenAI from 'openai';
import OpenAI7 from 'openai7';
import { Agent, Runner, OpenAIProvider, tool as agentTool } from '@openai/agents';
import { generateText, streamText, stepCountIs, jsonSchema, tool } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { ChatOpenAI } from '@langchain/openai';
import { hold, CLOCK, type Talk, type Script } from './talk-app.ts';
import { textStream, toolCallStream, chatStream } from '../../src/testing/index.ts';
const calls = (...w: any[]) => ({ body: toolCallStream(w.map(([name, args]: any) => ({ id: `call_${name}`, name, arguments: args }))) });
const says = (t: string) => ({ body: textStream(t) });
const ROME = ['weather', '{"city":"Rome"}'], OSLO = ['weather', '{"city":"Oslo"}'], ATL = ['weather', '{"city":"Atlantis"}'], CLK = ['clock', '{"zone":"CET"}'];
const full = (think: string, words: string, ...w: any[]) => ({ body: chatStream({ role: 'assistant', content: '' }, ...(think ? [{ reasoning_content: think }] : []), ...(words ? [{ content: words }] : []), ...w.map(([name, args]: any, index: number) => ({ tool_calls: [{ index, id: `call_${name}`, type: 'function', function: { name, arguments: args } }] }))) });
const scripts: Record<string, Script> = {
  words: { questions: ['Q1', 'Q2'], bringsClock: true, rounds: [full('', 'Look.', ROME), full('', 'Time.', CLK), says('A1'), says('A2')] },
  think: { questions: ['Q1', 'Q2'], bringsClock: true, rounds: [full('t1', 'Look.', ROME), full('t2', 'Time.', CLK), full('t3', 'A1'), full('t4', 'A2')] },
  sidethink: { questions: ['Q1', 'Q2'], bringsClock: true, rounds: [full('t1', 'Look.', ROME, CLK), full('t3', 'A1'), full('t4', 'A2')] },
  row: { questions: ['Q1', 'Q2'], bringsClock: true, rounds: [calls(ROME), calls(CLK), says('A1'), says('A2')] },
  server: { questions: ['Q1', 'Q2'], bringsClock: false, rounds: [calls(ROME), says('A1'), calls(OSLO), says('A2')] },
  };
const agents = (stream: boolean, useResponses: boolean, how: string) => async (talk: Talk) => {
  const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'k', baseURL: talk.url, useResponses }), tracingDisabled: true });
  const agent = new Agent({ name: 'a', model: 'm', tools: talk.bringsClock ? [agentTool({ ...CLOCK, strict: true, execute: (a: any) => talk.clock(a) } as any)] : [] });
  let history: any[] = []; let prev: any; const answers = [];
  for (const q of talk.questions) {
    const input = how === 'prev' ? q : [...history, { role: 'user', content: q }];
    const opt: any = how === 'prev' && prev ? { previousResponseId: prev } : {};
    const r: any = stream ? await runner.run(agent, input as any, { stream: true, ...opt }) : await runner.run(agent, input as any, opt);
    if (stream) { for await (const _ of r) ; await r.completed; }
    history = r.history; prev = r.lastResponseId;
    answers.push(r.finalOutput);
  }
  return answers;
};
const ai = (stream: boolean, make: (t: Talk) => any, po?: any, how?: string) => async (talk: Talk) => {
  const model = make(talk); const messages: any[] = []; const answers = []; let prev: any;
  for (const q of talk.questions) {
    if (how === 'prev') messages.length = 0;
    messages.push({ role: 'user', content: q });
    const providerOptions = prev && how === 'prev' ? { openai: { ...po?.openai, previousResponseId: prev } } : po;
    const args: any = { model, messages, stopWhen: stepCountIs(5), maxRetries: 0, providerOptions, ...(talk.bringsClock ? { tools: { clock: tool({ description: 'x', inputSchema: jsonSchema(CLOCK.parameters as any), execute: (a: any) => talk.clock(a) }) } } : {}) };
    if (stream) { const r = streamText({ ...args, onError: ({ error }: any) => { console.log('ERR', error); } }); const parts = []; for await (const p of r.fullStream) parts.push(p.type); if (parts.includes('error')) throw new Error('error part'); answers.push(await r.text); messages.push(...(await r.response).messages); prev = (await r.providerMetadata as any)?.openai?.responseId; console.log((await r.warnings)); }
    else { const r = await generateText(args); answers.push(r.text); messages.push(...r.response.messages); prev = (r.providerMetadata as any)?.openai?.responseId; if (r.warnings?.length) console.log(r.warnings); }
  }
  return answers;
};
const lc = (stream: boolean, useResponsesApi: boolean, how: string, more: any = {}) => async (talk: Talk) => {
  const base = new ChatOpenAI({ model: 'm', apiKey: 'k', useResponsesApi, maxRetries: 0, configuration: { baseURL: talk.url }, ...more });
  const model: any = talk.bringsClock ? base.bindTools([{ type: 'function', function: CLOCK } as any]) : base;
  let messages: any[] = []; const answers = []; let prev: any;
  const ask = async () => { const opt = how === 'prev' && prev ? { previous_response_id: prev } : {}; 
    let out: any; if (stream) { for await (const c of await model.stream(messages, opt)) out = out ? out.concat(c) : c; } else out = await model.invoke(messages, opt);
    prev = out.response_metadata.id; if (how === 'prev') messages = []; messages.push(out); if (how === 'prev') messages = []; return out; };
  for (const q of talk.questions) {
    messages.push({ role: 'user', content: q });
    let out = await ask();
    while (out.tool_calls?.length) { for (const c of out.tool_calls) messages.push({ role: 'tool', tool_call_id: c.id, content: talk.clock(c.args) }); out = await ask(); }
    answers.push(out.text);
  }
  return answers;
};
const oa = (C: any, how: string, chat = false) => async (talk: Talk) => {
  const client: OpenAI = new C({ apiKey: 'k', baseURL: talk.url, maxRetries: 0 });
  const tools: any = talk.bringsClock ? [{ type: 'function', ...CLOCK, strict: true }] : [];
  let input: any[] = []; let prev: any; const answers = [];
  const ask = async () => { const r: any = await client.responses.stream({ model: 'm', input, tools, ...(prev ? { previous_response_id: prev } : {}) } as any).finalResponse(); if (how === 'prev') { prev = r.id; input = []; } else input.push(...r.output); return r; };
  for (const q of talk.questions) { input.push({ role: 'user', content: q }); let r = await ask();
    for (;;) { const done = new Set(r.output.filter((i: any) => i.type === 'function_call_output').map((i: any) => i.call_id)); const open = r.output.filter((i: any) => i.type === 'function_call' && !done.has(i.call_id)); if (!open.length) break; for (const c of open) input.push({ type: 'function_call_output', call_id: c.call_id, output: talk.clock(JSON.parse(c.arguments)) }); r = await ask(); }
    answers.push(r.output_text); }
  return answers; };
const drivers: Record<string, any> = {
  'openai6 prev': oa(OpenAI, 'prev'), 'openai6 echo': oa(OpenAI, 'echo'), 'openai7 prev': oa(OpenAI7, 'prev'), 'openai7 echo': oa(OpenAI7, 'echo'),
  'agents history': agents(false, true, 'hist'), 'agents history stream': agents(true, true, 'hist'), 'agents prev': agents(false, true, 'prev'), 'agents chat': agents(false, false, 'hist'), 'agents chat stream': agents(true, false, 'hist'),
  'ai resp': ai(false, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).responses('m')), 'ai resp stream': ai(true, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).responses('m')),
  'ai resp nostore': ai(true, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).responses('m'), { openai: { store: false } }),
  'ai resp prev': ai(true, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).responses('m'), undefined, 'prev'),
  'ai chat': ai(false, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).chat('m')), 'ai chat stream': ai(true, (t) => createOpenAI({ apiKey: 'k', baseURL: t.url }).chat('m')),
  'ai or': ai(false, (t) => createOpenResponses({ name: 'x', apiKey: 'k', url: `${t.url}/responses` })('m')), 'ai or stream': ai(true, (t) => createOpenResponses({ name: 'x', apiKey: 'k', url: `${t.url}/responses` })('m')),
  'lc': lc(false, true, 'hist'), 'lc stream': lc(true, true, 'hist'), 'lc prev': lc(true, true, 'prev'), 'lc v1': lc(false, true, 'hist', { outputVersion: 'v1' }), 'lc v1 stream': lc(true, true, 'hist', { outputVersion: 'v1' }), 'lc zdr': lc(false, true, 'hist', { zdrEnabled: true }), 'lc zdr stream': lc(true, true, 'hist', { zdrEnabled: true }),
  'lc chat': lc(false, false, 'hist'), 'lc chat stream': lc(true, false, 'hist'),
};
const { writeFileSync, appendFileSync } = await import('node:fs');
writeFileSync('/tmp/explore.txt', '');
for (const mcpItems of ['mcp_call', 'function_call'] as const)
for (const [d, f] of Object.entries(drivers)) for (const [s, script] of Object.entries(scripts)) it(`${mcpItems} ${d} / ${s}`, async () => {
  const told = await hold(f, script, { mcpItems }).catch((e) => ({ error: e }));
  appendFileSync('/tmp/explore.txt', `\n### ${mcpItems} ${d} / ${s}\n` + ('error' in told ? (told.error as any)?.stack : JSON.stringify({ answers: told.answers, ran: told.ran, shown: told.shown }) + '\n' + told.asked.map((a) => JSON.stringify(a)).join('\n')));
  if ('error' in told) throw told.error;
});
