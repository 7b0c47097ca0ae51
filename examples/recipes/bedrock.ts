/** Amazon Bedrock's models behind the Responses and Messages APIs, by the AI SDK's provider. */
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import express from 'express';
import { openResponses } from 'express-open-responses';
import { aiSdkUpstream } from 'express-open-responses/upstreams/ai-sdk';

// The region and the key come from AWS_REGION and AWS_BEARER_TOKEN_BEDROCK, or from the credentials of AWS.
const { BEDROCK_BASE_URL: baseURL } = process.env;
const bedrock = createAmazonBedrock(baseURL ? { baseURL } : {});
const models = ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-pro-v1:0'];
const upstream = aiSdkUpstream(bedrock, { models });

const app = express();
app.use('/v1', openResponses({ upstream }).router);

export const server = app.listen(process.env.PORT ?? 3000);
