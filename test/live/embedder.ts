/** Writes a BERT embedder of PyPI, which comes as safetensors, as the GGUF that llama.cpp loads. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A tensor in the header of a safetensors file. */
interface SafeTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

interface BertConfig {
  readonly num_hidden_layers: number;
  readonly max_position_embeddings: number;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_attention_heads: number;
  readonly layer_norm_eps: number;
  readonly type_vocab_size: number;
}

/** The format's numbers for the types of values. */
const [UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY] = [4, 5, 6, 7, 8, 9];
const F32 = 0;
const ALIGNMENT = 32;
const MEAN_POOLING = 1;
/** Types of tokens: part of a text, and marks such as `[CLS]`. */
const [NORMAL, CONTROL] = [1, 3];

/** Reads config.json, tokenizer.json and model.safetensors of the folder. */
export function writeEmbedder(folder: string, target: string): void {
  const config: BertConfig = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const tokenizer = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'));
  const vocabulary: Readonly<Record<string, number>> = tokenizer.model.vocab;
  const words = Object.entries(vocabulary).toSorted(([, one], [, other]) => one - other);
  const isMark = (word: string) => /^\[(?:PAD|UNK|CLS|SEP|MASK|unused\d+)\]$/.test(word);
  const id = (word: string) => uint32(vocabulary[word] ?? 0);
  const values = [
    entry('general.architecture', STRING, text('bert')),
    entry('bert.block_count', UINT32, uint32(config.num_hidden_layers)),
    entry('bert.context_length', UINT32, uint32(config.max_position_embeddings)),
    entry('bert.embedding_length', UINT32, uint32(config.hidden_size)),
    entry('bert.feed_forward_length', UINT32, uint32(config.intermediate_size)),
    entry('bert.attention.head_count', UINT32, uint32(config.num_attention_heads)),
    entry('bert.attention.layer_norm_epsilon', FLOAT32, float32(config.layer_norm_eps)),
    entry('bert.attention.causal', BOOL, Buffer.of(0)),
    entry('bert.pooling_type', UINT32, uint32(MEAN_POOLING)),
    entry('tokenizer.ggml.model', STRING, text('bert')),
    entry('tokenizer.ggml.token_type_count', UINT32, uint32(config.type_vocab_size)),
    // llama.cpp marks the beginning of a word, where WordPiece marks what continues one.
    list(
      'tokenizer.ggml.tokens',
      STRING,
      words.map(([word]) => text(isMark(word) ? word : wordPiece(word))),
    ),
    list(
      'tokenizer.ggml.token_type',
      INT32,
      words.map(([word]) => uint32(isMark(word) ? CONTROL : NORMAL)),
    ),
    entry('tokenizer.ggml.unknown_token_id', UINT32, id('[UNK]')),
    entry('tokenizer.ggml.bos_token_id', UINT32, id('[CLS]')),
    entry('tokenizer.ggml.cls_token_id', UINT32, id('[CLS]')),
    entry('tokenizer.ggml.seperator_token_id', UINT32, id('[SEP]')),
    entry('tokenizer.ggml.padding_token_id', UINT32, id('[PAD]')),
    entry('tokenizer.ggml.mask_token_id', UINT32, id('[MASK]')),
  ];
  const tensors = bertTensors(readFileSync(join(folder, 'model.safetensors')));
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(values.length), ...values];
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    const sizes = shape.toReversed().map(uint64);
    head.push(text(name), uint32(shape.length), ...sizes, uint32(F32), uint64(offset));
    offset += data.length + padding(data.length).length;
  }
  const written = Buffer.concat(head);
  const body = tensors.flatMap(({ data }) => [data, padding(data.length)]);
  writeFileSync(target, Buffer.concat([written, padding(written.length), ...body]));
}

function wordPiece(word: string): string {
  return word.startsWith('##') ? word.slice(2) : `\u2581${word}`;
}

/** The tensors under llama.cpp's names; those that it does not use are left out. */
function bertTensors(file: Buffer) {
  const length = Number(file.readBigUInt64LE());
  const header: Readonly<Record<string, SafeTensor>> = JSON.parse(file.toString('utf8', 8, 8 + length));
  const start = 8 + length;
  return Object.entries(header).flatMap(([from, { dtype, shape, data_offsets: offsets }]) => {
    const [, layer, part, kind] = /^(?:encoder\.layer\.(\d+)\.|embeddings\.)(.+)\.(weight|bias)$/.exec(from) ?? [];
    const known = layer === undefined ? EMBEDDINGS[part ?? ''] : LAYER[part ?? ''];
    if (known === undefined || dtype !== 'F32') return [];
    const name = `${layer === undefined ? '' : `blk.${layer}.`}${known}.${kind}`;
    return [{ name, shape, data: file.subarray(start + offsets[0], start + offsets[1]) }];
  });
}

const EMBEDDINGS: Readonly<Record<string, string>> = {
  word_embeddings: 'token_embd',
  position_embeddings: 'position_embd',
  token_type_embeddings: 'token_types',
  LayerNorm: 'token_embd_norm',
};
const LAYER: Readonly<Record<string, string>> = {
  'attention.self.query': 'attn_q',
  'attention.self.key': 'attn_k',
  'attention.self.value': 'attn_v',
  'attention.output.dense': 'attn_output',
  'attention.output.LayerNorm': 'attn_output_norm',
  'intermediate.dense': 'ffn_up',
  'output.dense': 'ffn_down',
  'output.LayerNorm': 'layer_output_norm',
};

function entry(key: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([text(key), uint32(type), value]);
}

function list(key: string, type: number, members: readonly Buffer[]): Buffer {
  return entry(key, ARRAY, Buffer.concat([uint32(type), uint64(members.length), ...members]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function padding(length: number): Buffer {
  return Buffer.alloc((ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT);
}
