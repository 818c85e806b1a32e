// The Node SDK of RocketMQ 5 in one case of a list of conformance: ENDPOINT CASE; prints "case NAME RESULT".
'use strict';
const { ConsumeResult, Producer, PushConsumer, SimpleConsumer } = require('rocketmq-client-nodejs');

const endpoints = process.argv[2];
const WAIT_MS = 60000;
const quiet = { info() {}, warn() {}, error() {}, debug() {} };
const pause = ms => new Promise(done => setTimeout(done, ms));

async function consumer(consumerGroup, topic) {
  const made = new SimpleConsumer({ consumerGroup, endpoints, namespace: '', logger: quiet, awaitDuration: 5000,
    subscriptions: new Map().set(topic, '*') });
  await made.startup();
  return made;
}

async function receive(from, count) {
  const found = [];
  const end = Date.now() + WAIT_MS;
  while (found.length < count && Date.now() < end) {
    try {
      for (const view of await from.receive(16, 30000)) {
        found.push(view.body.toString());
        await from.ack(view);
      }
    } catch {
      await pause(200); // the broker is away
    }
  }
  return found;
}

async function send(producer, topic, body) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await producer.send({ topic, body: Buffer.from(body) });
    } catch (error) {
      if (Date.now() > end) throw error;
      await pause(200);
    }
  }
}

async function compressed() {
  const source = await consumer('packed-node', 'packed');
  const found = await receive(source, 3);
  console.log('case compressed', found.filter(body => body === 'packed '.repeat(500)).length);
  await source.shutdown();
}

async function again() {
  const producer = new Producer({ endpoints, namespace: '', logger: quiet, topics: ['again-node'] });
  await producer.startup();
  const source = await consumer('again-node', 'again-node');
  for (const body of ['before', 'after']) {
    await send(producer, 'again-node', body);
    for (const found of await receive(source, 1)) console.log('case', body, found);
    console.log('waiting');
    await new Promise(done => process.stdin.once('data', done));
  }
  await source.shutdown();
  await producer.shutdown();
}

// A push consumer that works on each message until the test goes on.
async function member() {
  const line = () => new Promise(done => process.stdin.once('data', done));
  let goOn;
  const done = new Promise(resolve => { goOn = resolve; });
  const messageListener = { async consume(view) {
    console.log('case', view.body.toString(), 'taken');
    console.log('waiting');
    await done;
    return ConsumeResult.SUCCESS;
  } };
  const source = new PushConsumer({ consumerGroup: 'shared-group', endpoints, namespace: '', logger: quiet, messageListener,
    subscriptions: new Map().set('shared', '*') });
  await source.startup();
  console.log('waiting');
  await line();
  goOn();
  await line();
  await source.shutdown();
}

// A push consumer in order, one of whose messages always fails; the others come in their turn.
async function order() {
  const producer = new Producer({ endpoints, namespace: '', logger: quiet, topics: ['order'] });
  await producer.startup();
  for (const body of ['0', 'bad', '1', '2']) {
    await producer.send({ topic: 'order', messageGroup: 'g', body: Buffer.from(body) });
  }
  const found = [];
  const messageListener = { async consume(view) {
    const body = view.body.toString();
    found.push(`${body}/${view.deliveryAttempt}`);
    return body === 'bad' ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
  } };
  const source = new PushConsumer({ consumerGroup: 'order-node', endpoints, namespace: '', logger: quiet, messageListener,
    subscriptions: new Map().set('order', '*') });
  await source.startup();
  for (const end = Date.now() + WAIT_MS; !found.includes('2/1') && Date.now() < end;) await pause(50);
  console.log('case order', found.join(','));
  const dead = await consumer('order-dead', '%DLQ%order-node');
  for (const body of await receive(dead, 1)) console.log('case dead', body);
}

({ compressed, again, member, order })[process.argv[3]]()
  .then(() => process.exit(0), error => { console.log('failed', error); process.exit(1); });
