/** A tool that the server runs itself: the client sees the call, its result and the model's answer in one response. */
import express from 'express';
import { functionTool, functionTools, responsesRouter } from 'express-open-responses';
import { z } from 'zod';

const tools = functionTools({
  order_status: functionTool({
    description: 'The status of an order.',
    parameters: z.object({ order: z.string() }),
    execute: ({ order }) => `Order ${order} is on its way.`,
  }),
});

express().use('/v1', responsesRouter({ tools })).listen(3000);
