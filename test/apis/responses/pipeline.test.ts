/** The steps of a request: each works alone on what the one before returned, changes nothing, and together they are the pipeline. */
import { prepareConversation, prepareRequest } from '../../../src/apis/responses/pipeline.ts';
import { applyApprovals } from '../../../src/apis/responses/steps/apply-approvals.ts';
import { resolveHistory } from '../../../src/apis/responses/steps/resolve-history.ts';
import { resolveTools } from '../../../src/apis/responses/steps/resolve-tools.ts';
import { resumePrograms } from '../../../src/apis/responses/steps/resume-programs.ts';
import { selectWindow } from '../../../src/apis/responses/steps/select-window.ts';
import { toModelRequest } from '../../../src/apis/responses/steps/to-model-request.ts';
import { validate } from '../../../src/apis/responses/steps/validate.ts';
import { functionTools, memoryStore } from '../../../src/index.ts';
import type { Item } from '../../../src/protocol/items.ts';
import { coreSettings } from '../../../src/server/options/core-settings.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

const BODY = {
  model: 'm',
  input: 'And now?',
  previous_response_id: 'resp_1',
  tools: [{ type: 'function', name: 'own' }],
};
const store = memoryStore();
const settings = coreSettings('test', {
  store,
  tools: functionTools({ clock: { description: 'Gives the time.', execute: () => '12:00' } }),
  upstream: { name: 'none', async *stream() {} },
});

beforeAll(() =>
  store.put({
    scope: 's',
    id: 'resp_1',
    createdAt: 1,
    input: [{ type: 'message', id: 'msg_1', role: 'user', content: 'What time is it?' } as Item],
    output: [{ type: 'message', id: 'msg_2', role: 'assistant', content: 'Noon.' } as Item],
    resource: {},
  }),
);

/** As JSON, without the ids that are random. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, each) => (each instanceof Map ? [...each] : each)).replace(
      /[A-Za-z0-9]{32}/g,
      '<random>',
    ),
  );
}

/** Runs the step on a value that must stay as it was. */
async function alone<Given, Made>(given: Given, step: (given: Given) => Made | Promise<Made>): Promise<Made> {
  const before = plain(given);
  const made = await step(given);
  expect(plain(given)).toEqual(before);
  return made;
}

it('[Q-08] are validate, resolveHistory, selectWindow, resolveTools, applyApprovals, resumePrograms and toModelRequest, each by itself', async () => {
  const request = endpointRequest({ body: BODY });
  const checked = await alone(request, (given) => validate(given, settings));
  const withHistory = await alone(checked, (given) => resolveHistory(given, settings));
  const inWindow = await alone(withHistory, (given) => selectWindow(given, settings));
  const withTools = await alone(inWindow, (given) => resolveTools(given, settings));
  const withApprovals = await alone(withTools, (given) => applyApprovals(given, settings));
  const withPrograms = await alone(withApprovals, (given) => resumePrograms(given, settings));
  const prepared = await alone(withPrograms, (given) => toModelRequest(given, settings));

  expect([
    withHistory.conversation.map(({ role }) => role),
    inWindow.window.items.length,
    [...withTools.toolset.keys()],
    withApprovals.approvalRules.size,
    prepared.request.tools?.map(({ name }) => name),
  ]).toEqual([['user', 'assistant', 'user'], 3, ['clock'], 0, ['own', 'clock']]);
  const again = endpointRequest({ body: BODY });
  expect(plain(prepared.request)).toEqual(plain((await prepareRequest(again, settings)).request));
  expect(plain(inWindow.window)).toEqual(plain((await prepareConversation(again, settings)).window));
});

it('[Q-08] refuse a body that is none at the first of them', async () => {
  expect(() => validate(endpointRequest({ body: { model: 7 } }), settings)).toThrow(
    expect.objectContaining({ status: 400, param: 'model' }),
  );
});
