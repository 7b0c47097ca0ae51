/** What a model server says of an answer beside the answer: its model, its tier, its tokens and their cost. */

import express from 'express';
import type { ResponseInfo } from '../../src/index.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  responsesRouter,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  chatCompletion,
  type FakeAnswer,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { listening } from '../support/listening.ts';
import { recordedJson, recordedStream } from '../support/replay.ts';
import { askForJson, askForStream } from '../support/responses-client.ts';
import { describeShared } from '../support/shared.ts';

let fake: FakeUpstream;
let url: string;
let reported: ResponseInfo[];
let close: () => Promise<void>;

beforeEach(async () => {
  fake = await startFakeUpstream();
  reported = [];
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  const tools = functionTools({ look: { parameters: {}, execute: () => 'Fog.' } });
  const options = {
    upstream,
    tools,
    store: memoryStore(),
    hooks: { onResponse: (info: ResponseInfo) => void reported.push(info) },
  };
  const host = await listening(express().use(responsesRouter(options), chatCompletionsRouter(options)));
  url = host.url;
  close = async () => {
    await Promise.all([host.close(), upstream.close?.(), fake.close()]);
  };
});
afterEach(() => close());

/** The counts of a response, in the order input, cached, output, reasoning, total. */
async function countsOf(reply: FakeAnswer, split: FakeAnswer['split'] = 'whole'): Promise<readonly unknown[]> {
  fake.reply({ ...reply, split });
  const { usage } = (await askForStream(url)).response;
  return [
    usage?.input_tokens,
    usage?.input_tokens_details.cached_tokens,
    usage?.output_tokens,
    usage?.output_tokens_details.reasoning_tokens,
    usage?.total_tokens,
  ];
}

describeShared('recorded usage', () => {
  it.each<[string, string, readonly number[], number | undefined]>([
    [
      'xAI leaves reasoning out of what it completed',
      'v06-xai-usage-api.x.ai-65de7d25',
      [165, 156, 127, 125, 292],
      0.0000731,
    ],
    ['xAI the same', 'v06-xai-usage-api.x.ai-ae4e3008', [136, 128, 102, 93, 238], 0.0002906],
    [
      'xAI on Azure caches more than it was given',
      'v06-xai-usage-rubyllm.services.ai.azure.com-2ae9e417',
      [392, 392, 37, 0, 429],
      undefined,
    ],
    ['Mistral', 'v06-cached-names-api.mistral.ai-bcbf174b', [64, 32, 6, 0, 70], undefined],
    ['Inception', 'v06-cached-names-api.inceptionlabs.ai-2a15a8de', [8, 4, 43, 33, 51], undefined],
    [
      'Gemini reports thoughts in the total only',
      'v01-thought-signature-generativelanguage.googleapis.com-baec08c5',
      [66, 0, 34, 28, 100],
      undefined,
    ],
    [
      'Gemini behind a gateway reports them beside the total',
      'v01-reasoning-details-ai-gateway.vercel.sh-07c3db97',
      [40, 0, 126, 112, 166],
      0.001592,
    ],
    ['OpenRouter', 'v06-cost-openrouter-488cb88d', [44, 0, 4, 0, 48], 0.000009],
  ])('[V-06] [S-10] has the right numbers, which add up: %s', async (_what, name, counts, cost) => {
    const reply = recordedJson(name);
    const body = JSON.parse(String(reply.body));
    for (const split of ['whole', 'byte', [7, 100, 333]] as const) expect(await countsOf(reply, split)).toEqual(counts);
    const [info] = reported;
    expect([info?.upstreamModel, info?.upstreamUsage, info?.usage.total_tokens]).toEqual([
      body.model,
      body.usage,
      counts[4],
    ]);
    expect(info?.cost === undefined ? undefined : Number(info.cost.toFixed(9))).toBe(cost);
  });

  it('[V-06] is read under the name that Mistral streams it', async () => {
    expect(await countsOf(recordedStream('v06-cached-names-unknown-131d10b7'))).toEqual(
      expect.arrayContaining([expect.any(Number)]),
    );
    const [info] = reported;
    expect(info?.upstreamUsage).toMatchObject({ prompt_tokens: 10, num_cached_tokens: 64 });
    expect(info?.usage.input_tokens_details.cached_tokens).toBe(10);
  });

  it('[V-08] names the model and the tier that answered', async () => {
    fake.reply(recordedJson('v06-xai-usage-api.x.ai-ae4e3008'));
    const { response, events } = await askForStream(url);
    const [created] = events as readonly { readonly response?: JsonObject }[];
    expect([created?.response?.model, response.model, response.service_tier]).toEqual([
      'recorded-model',
      'grok-4.3',
      'default',
    ]);
  });
});

// Written after the documentation of the providers.
describe('usage', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const answered = (more: JsonObject) => ({ body: chatCompletion('Hi', { usage: { ...usage, ...more } }) });

  it('[V-06] stands in the choice, as Moonshot streams it', async () => {
    const choice = { index: 0, delta: {}, finish_reason: 'stop', usage: { ...usage, cached_tokens: 7 } };
    const body = `${chatChunk({ content: 'Hi' })}${chatChunk({}, { choices: [choice] })}data: [DONE]\n\n`;
    expect(await countsOf({ body })).toEqual([10, 7, 5, 0, 15]);
    fake.reply({ body });
    await chat({ stream: true });
    expect(reported.map((info) => info.usage.input_tokens_details.cached_tokens)).toEqual([7, 7]);
  });

  it.each<[string, JsonObject, readonly number[]]>([
    ['Moonshot', { cached_tokens: 4 }, [10, 4, 5, 0, 15]],
    ['DeepSeek', { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 }, [10, 4, 5, 0, 15]],
    ['a gateway with Anthropic’s names', { cache_read_input_tokens: 4 }, [10, 4, 5, 0, 15]],
    ['two names at once', { prompt_tokens_details: { cached_tokens: 0 }, num_cached_tokens: 4 }, [10, 4, 5, 0, 15]],
    ['reasoning that is part of it', { completion_tokens_details: { reasoning_tokens: 3 } }, [10, 0, 5, 3, 15]],
    ['a total that is too small', { total_tokens: 3 }, [10, 0, 5, 0, 15]],
    ['no total', { total_tokens: null }, [10, 0, 5, 0, 15]],
  ])('[V-06] has its numbers under the names of %s', async (_who, more, counts) => {
    expect(await countsOf(answered(more))).toEqual(counts);
  });

  it('[V-06] reads cache writes and cost under every name', async () => {
    const spelled: readonly JsonObject[] = [
      { prompt_tokens_details: { cache_write_tokens: 6 }, cost: 0.25 },
      { cache_creation_input_tokens: 6, cost: { total_cost: 0.25 } },
      { prompt_tokens_details: { cache_creation_tokens: 6 }, cost_in_usd_ticks: 2_500_000_000 },
      { cache_write_tokens: 6, estimated_cost: 0.25 },
    ];
    for (const more of spelled) await countsOf(answered(more));
    expect(reported.map(({ cost, usage: read }) => [cost, read.input_tokens_details.cache_write_tokens])).toEqual(
      spelled.map(() => [0.25, 6]),
    );
  });
});

async function chat(body: JsonObject): Promise<string> {
  const requested = { model: 'm', messages: [{ role: 'user', content: 'Go.' }], ...body };
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(requested) })).text();
}

describe('hooks.onResponse', () => {
  const call = toolCallStream([{ id: 'a', name: 'look', arguments: '{}' }]);
  const priced = (body: string, cost: number, model: string) => ({
    body: body
      .replaceAll('"total_tokens":21', `"total_tokens":21,"cost":${cost}`)
      .replaceAll('"model":"fake-model"', `"model":"${model}","service_tier":"flex"`),
  });

  it('[V-06] [V-08] receives the last model and its usage as it came, and the cost of all calls', async () => {
    fake.reply(priced(call, 0.5, 'first'), priced(textStream('Fog.'), 0.25, 'second'));
    const { response } = await askForStream(url);
    expect([response.model, response.service_tier]).toEqual(['second', 'flex']);
    fake.reply(priced(call, 0.5, 'first'), priced(textStream('Fog.'), 0.25, 'second'));
    await chat({ stream: true, stream_options: { include_usage: true } });
    const usage = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21, cost: 0.25 };
    expect(reported.map(({ upstreamModel, upstreamUsage, cost }) => ({ upstreamModel, upstreamUsage, cost }))).toEqual([
      { upstreamModel: 'second', upstreamUsage: usage, cost: 0.75 },
      { upstreamModel: 'second', upstreamUsage: usage, cost: 0.75 },
    ]);
  });

  it('[V-08] keeps what was asked for where the server reports nothing, or nothing that could be shown', async () => {
    const body = textStream('Hi').replaceAll('"model":"fake-model"', `"model":"","service_tier":null`);
    fake.reply({ body }, { body: textStream('Hi').replaceAll('fake-model', 'x'.repeat(5000)) });
    for (let turn = 0; turn < 2; turn += 1) {
      const { model, service_tier } = await askForJson(url, { service_tier: 'auto' });
      expect([model, service_tier]).toEqual(['recorded-model', 'auto']);
    }
    expect(reported.map(({ upstreamModel, cost }) => [upstreamModel, cost])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });
});
