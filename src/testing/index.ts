/** For tests of your own stores and apps: contract suites for adapters, a fake model server, and a demo model. */
export {
  type ChatExtra,
  type ChatFields,
  chatChunk,
  chatCompletion,
  chatStream,
  type FakeToolCall,
  textStream,
  toolCallStream,
} from './chat-bytes.ts';
export { type CodeRuntimeUnderTest, codeScript } from './code-runtime-case.ts';
export { type CodeRuntimeContract, codeRuntimeContract } from './code-runtime-contract.ts';
export { type DemoModel, startDemoModel } from './demo-model/demo-model.ts';
export { demoSearch } from './demo-search.ts';
export type { EngineContractOptions } from './engines/engine-case.ts';
export { type BackgroundEngineContract, backgroundEngineContract } from './engines/engine-contract.ts';
export type { FakeRequest, FakeResponder } from './fake-exchange.ts';
export type { FakeAnswer, FakeBytes, FakeReply } from './fake-reply.ts';
export { type FakeUpstream, type FakeUpstreamOptions, startFakeUpstream } from './fake-upstream.ts';
export {
  type FileStoreContract,
  type FileStoreUnderTest,
  fileStoreContract,
} from './files/file-store-contract.ts';
export type { StoreContractClock } from './stores/store-case.ts';
export {
  type StoreContract,
  type StoreContractOptions,
  type StoreUnderTest,
  storeContract,
} from './stores/store-contract.ts';
export {
  type UpstreamExtra,
  type UpstreamPlay,
  type UpstreamScenario,
  type UpstreamUnderTest,
  upstreamScript,
} from './upstreams/upstream-case.ts';
export { type UpstreamContract, upstreamContract } from './upstreams/upstream-contract.ts';
export {
  type VectorIndexContract,
  type VectorIndexUnderTest,
  vectorIndexContract,
} from './vectors/vector-index-contract.ts';
