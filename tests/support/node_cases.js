/*
 * What the Node client of RocketMQ (npm ali-ons) can do beside sending and consuming, many cases in one process:
 *
 *   node_cases.js NAME_SERVER CASE...
 *
 * Prints "case NAME RESULT" for each; log lines of the client go to standard error.
 */
'use strict';

const httpclient = require('urllib');
const { Consumer, Message, Producer } = require('ali-ons');

const WAIT_MILLIS = 90000;
const logger = { debug() {}, info() {}, warn: console.error, error: console.error };
const [nameSrv, ...names] = process.argv.slice(2);

const pause = millis => new Promise(resolve => setTimeout(resolve, millis));

async function waitFor(what, holds) {
  for (const end = Date.now() + WAIT_MILLIS; !(await holds()); await pause(10)) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
  }
}

async function producerOf(topic) {
  const producer = new Producer({ httpclient, nameSrv, producerGroup: `PG-${topic}`, logger, instanceName: `p-${topic}` });
  await producer.ready();
  // This client leaves a new topic to others unless it is given the route of the default topic.
  await producer._mqClient.updateTopicRouteInfoFromNameServer(topic, true, producer);
  return producer;
}

function message(topic, body, level) {
  const made = new Message(topic, 't', body);
  made.keys = [`key-${body}`];
  if (level) made.delayTimeLevel = level;
  return made;
}

async function consumerOf(topic, instanceName, listen, options) {
  const consumer = new Consumer({
    httpclient, nameSrv, consumerGroup: `CG-${topic}`, logger, instanceName,
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET', ...options,
  });
  consumer.on('error', error => console.error(error));
  consumer.subscribe(topic, '*', listen);
  await consumer.ready();
  return consumer;
}

const cases = {
  async delay() {
    const producer = await producerOf('n-delay');
    await producer.send(message('n-delay', 'later', 1));
    let waited = -1;
    const consumer = await consumerOf('n-delay', 'delay', async one => {
      waited = one.storeTimestamp - one.bornTimestamp;
    });
    await waitFor('the delayed message', () => waited >= 0);
    await consumer.close();
    return waited >= 1000;
  },

  async retry() {
    const producer = await producerOf('n-retry');
    await producer.send(message('n-retry', 'stubborn'));
    const times = [];
    const consumer = await consumerOf('n-retry', 'retry', async one => {
      times.push(`${one.keys}:${one.reconsumeTimes}`);
      if (times.length < 3) throw new Error('not yet');
    });
    await waitFor('two retries', () => times.length >= 3);
    await consumer.close();
    return times.join();
  },

  async takeover() {
    const producer = await producerOf('n-takeover');
    const first = new Set();
    const second = new Set();
    let sent = 0;
    const next = async () => producer.send(message('n-takeover', `${sent++}`));
    while (sent < 50) await next();
    const one = await consumerOf('n-takeover', 'one', async got => { first.add(got.body.toString()); });
    await waitFor('the first member', () => first.size === 50);
    const two = await consumerOf('n-takeover', 'two', async got => { second.add(got.body.toString()); });
    await waitFor('the second member', async () => {
      await next();
      return second.size > 0;
    });
    await one.close();
    for (const end = sent + 40; sent < end; ) await next();
    await waitFor('everything after the takeover', () => new Set([...first, ...second]).size === sent);
    await two.close();
    return true;
  },
};

async function run(name) {
  console.log(`case ${name} ${await cases[name]()}`);
}

Promise.all(names.map(run)).then(() => process.exit(0), error => {
  console.error(error);
  process.exit(1);
});
