/** What is wrong with a request, in OpenAI's words. */
import fc from 'fast-check';
import { ApiError } from '../../../src/protocol/errors.ts';
import { validateCreate } from '../../../src/protocol/responses/validate.ts';

function refusal(body: unknown): unknown {
  try {
    return validateCreate(body);
  } catch (error) {
    const { code, message, param, status } = error as ApiError;
    return [status, code, param, message];
  }
}

function refused(code: string, param: string | null, message: string): unknown {
  return [400, code, param, message];
}

function requested(fields: Readonly<Record<string, unknown>>): unknown {
  return { model: 'm', input: 'Hi.', ...fields };
}

describe('validateCreate', () => {
  it.each<readonly [unknown, unknown]>([
    ['text', refused('invalid_json', null, 'The request body must be a JSON object.')],
    [[], refused('invalid_json', null, 'The request body must be a JSON object.')],
    [
      { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] },
      refused(
        'missing_required_parameter',
        'input',
        "Missing required parameter: 'input'. 'messages' is its name in Chat Completions.",
      ),
    ],
    [{ input: 'Hi.' }, refused('missing_required_parameter', 'model', "Missing required parameter: 'model'.")],
    [
      requested({ model: 7 }),
      refused('invalid_type', 'model', "Invalid type for 'model': expected a string, but got an integer instead."),
    ],
    [
      requested({ input: 7 }),
      refused(
        'invalid_type',
        'input',
        "Invalid type for 'input': expected a string or an array of items, but got an integer instead.",
      ),
    ],
    [
      requested({ stream: 'yes' }),
      refused('invalid_type', 'stream', "Invalid type for 'stream': expected a boolean, but got a string instead."),
    ],
    [
      requested({ max_output_tokens: 15 }),
      refused(
        'integer_below_min_value',
        'max_output_tokens',
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.",
      ),
    ],
    [
      requested({ max_tool_calls: 0 }),
      refused(
        'integer_below_min_value',
        'max_tool_calls',
        "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got 0 instead.",
      ),
    ],
    [
      requested({ temperature: 2.5 }),
      refused(
        'decimal_above_max_value',
        'temperature',
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
      ),
    ],
    [
      requested({ top_logprobs: 1.5 }),
      refused(
        'invalid_type',
        'top_logprobs',
        "Invalid type for 'top_logprobs': expected an integer, but got a decimal number instead.",
      ),
    ],
    [
      requested({ truncation: 'some' }),
      refused(
        'invalid_value',
        'truncation',
        "Invalid value: 'some'. Supported values for 'truncation' are: 'auto', 'disabled'.",
      ),
    ],
    [
      requested({ safety_identifier: 'x'.repeat(129) }),
      refused(
        'string_above_max_length',
        'safety_identifier',
        "Invalid 'safety_identifier': string too long. Expected a string with maximum length 128, but got 129 instead.",
      ),
    ],
    [
      requested({ text: { format: { type: 'json_schema', schema: {} } } }),
      refused('missing_required_parameter', 'text.format.name', "Missing required parameter: 'text.format.name'."),
    ],
    [
      requested({ tools: [{ type: 'function' }] }),
      refused('missing_required_parameter', 'tools[0].name', "Missing required parameter: 'tools[0].name'."),
    ],
    [
      requested({ input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }),
      refused('missing_required_parameter', 'input[0].call_id', "Missing required parameter: 'input[0].call_id'."),
    ],
    [
      requested({ input: [{ content: 'Hi.' }] }),
      refused('missing_required_parameter', 'input[0].type', "Missing required parameter: 'input[0].type'."),
    ],
    [
      requested({ input: [{ role: 'tool', content: 'Hi.' }] }),
      refused(
        'invalid_value',
        'input[0].role',
        "Invalid value: 'tool'. Supported values for 'input[0].role' are: 'user', 'assistant', 'system', 'developer'.",
      ),
    ],
    [
      requested({ conversation: 'conv_1', previous_response_id: 'resp_1' }),
      refused(
        'mutually_exclusive_parameters',
        'conversation',
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
      ),
    ],
    [
      requested({ conversation: 7 }),
      refused(
        'invalid_type',
        'conversation',
        "Invalid type for 'conversation': expected a conversation id or an object with one, but got an integer instead.",
      ),
    ],
  ])('[D-19] [S-03] reports what is wrong with %j', (body, error) => {
    expect(refusal(body)).toEqual(error);
  });

  it('[S-03] takes a response in the background that is not to be stored', () => {
    const body = requested({ background: true, store: false });
    expect(refusal(body)).toMatchObject({ background: true, store: false });
  });

  it('[S-03] [Q-06] accepts any JSON as an unknown item, or reports the fault', () => {
    const item = fc.record({ type: fc.string({ minLength: 1 }), id: fc.string() }, { requiredKeys: ['type'] });
    fc.assert(
      fc.property(fc.array(fc.oneof(item, fc.dictionary(fc.string(), fc.jsonValue()))), (input) => {
        expect(outcomeOf(() => validateCreate(requested({ input })))).toBe('understood');
      }),
    );
  });

  it('[Q-06] throws nothing but errors for the client, whatever the body', () => {
    const field = fc.constantFrom(
      'input',
      'tools',
      'tool_choice',
      'text',
      'reasoning',
      'metadata',
      'include',
      'stream',
    );
    fc.assert(
      fc.property(fc.dictionary(field, fc.jsonValue()), (fields) => {
        expect(outcomeOf(() => validateCreate(requested(fields)))).toBe('understood');
      }),
    );
  });

  it('[S-03] refuses JSON that is nested deeper than any schema', () => {
    const nested = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);
    expect(refusal(requested({ tools: [{ type: 'function', name: 'f', parameters: { nested } }] }))).toEqual(
      refused('invalid_value', null, 'The request is nested deeper than 128 levels.'),
    );
  });
});

/** Whether the body was taken or refused in so many words; else what else was thrown. */
function outcomeOf(run: () => unknown): unknown {
  try {
    run();
    return 'understood';
  } catch (error) {
    return error instanceof ApiError && error.status === 400 && error.message !== '' ? 'understood' : error;
  }
}
