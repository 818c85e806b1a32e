// The Node SDK of RocketMQ 5 in its default settings (plain text): prints "case NAME RESULT" for each thing that it tries.
'use strict';
const { ConsumeResult, Producer, PushConsumer, SimpleConsumer } = require('rocketmq-client-nodejs');

const endpoints = process.argv[2];
const START_MS = 20000;
const COMMIT = 1; // of TransactionResolution, which the package does not export
const pause = ms => new Promise(done => setTimeout(done, ms));
const closing = []; // push consumers, which wait for the end of a receive
let errors = 0;
const quiet = { info() {}, warn() {}, error() { errors += 1; }, debug() {} };

async function consumer(consumerGroup, topic) {
  const made = new SimpleConsumer({ consumerGroup, endpoints, namespace: '', logger: quiet, awaitDuration: 5000,
    subscriptions: new Map().set(topic, '*') });
  await made.startup();
  return made;
}

async function receive(from, count) {
  const found = [];
  const end = Date.now() + 100000;
  while (found.length < count && Date.now() < end) {
    for (const view of await from.receive(16, 30000)) {
      found.push(view);
      await from.ack(view);
    }
  }
  return found;
}

const bodies = views => views.map(view => view.body.toString());

async function started(topics, checker) {
  const made = new Producer({ endpoints, namespace: '', logger: quiet, topics, checker });
  await made.startup();
  return made;
}

// A producer of several topics; where none starts in time, one of the first topic, which sends to the others, too.
async function startedWithAll(topics) {
  const all = await Promise.race([started(topics), pause(START_MS)]);
  console.log('case start', all !== undefined);
  return all ?? started(topics.slice(0, 1));
}

// A push consumer whose first deliveries fail; `attempts` are their numbers.
async function listener(consumerGroup, topic, failures, attempts) {
  const messageListener = { async consume(view) {
    attempts.push(view.deliveryAttempt);
    return view.deliveryAttempt <= failures ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
  } };
  const made = new PushConsumer({ consumerGroup, endpoints, namespace: '', logger: quiet, messageListener,
    subscriptions: new Map().set(topic, '*') });
  await made.startup();
  return made;
}

async function push(producer) {
  const attempts = [];
  const pusher = await listener('sdk-node-pushers', 'sdk-node-push', 1, attempts);
  await producer.send({ topic: 'sdk-node-push', body: Buffer.from('push') });
  for (const end = Date.now() + 100000; attempts.length < 2 && Date.now() < end;) await pause(50);
  console.log('case push', JSON.stringify(attempts));
  closing.push(pusher.shutdown());
}

async function dead(producer) {
  const attempts = [];
  const failing = await listener('sdk-node-buried', 'sdk-node-dead', 99, attempts);
  const undertaker = await consumer('sdk-node-undertaker', '%DLQ%sdk-node-buried');
  await producer.send({ topic: 'sdk-node-dead', body: Buffer.from('dies') });
  console.log('case dead', bodies(await receive(undertaker, 1)).join(','), JSON.stringify(attempts));
  await undertaker.shutdown();
  closing.push(failing.shutdown());
}

async function transactions() {
  const producer = await started(['sdk-node-tx'], { async check() { return COMMIT; } });
  const source = await consumer('sdk-node-tx-group', 'sdk-node-tx');
  for (const body of ['commit', 'roll-back', 'orphan']) {
    const transaction = producer.beginTransaction();
    await producer.send({ topic: 'sdk-node-tx', body: Buffer.from(body) }, transaction);
    if (body === 'commit') await transaction.commit();
    else if (body === 'roll-back') await transaction.rollback();
  }
  console.log('case transactions', bodies(await receive(source, 2)).sort().join(','));
  await source.shutdown();
  await producer.shutdown();
}

async function main() {
  const producer = await startedWithAll(['', '-fifo', '-delay', '-push', '-dead'].map(kind => 'sdk-node' + kind));
  const simple = await consumer('sdk-node-simple', 'sdk-node');
  await producer.send({ topic: 'sdk-node', tag: 'T', keys: ['k1', 'k2'], properties: new Map([['color', 'red']]),
    body: Buffer.from('one') });
  await producer.send({ topic: 'sdk-node', body: Buffer.from('two') });
  const views = await receive(simple, 2);
  console.log('case simple', bodies(views).sort().join(','));
  const one = views.find(view => view.body.toString() === 'one');
  console.log('case fields', one.tag, one.keys.length, one.properties.get('color'));
  const ordered = await consumer('sdk-node-ordered', 'sdk-node-fifo');
  for (let number = 0; number < 8; number++) {
    await producer.send({ topic: 'sdk-node-fifo', messageGroup: 'g', body: Buffer.from(String(number)) });
  }
  console.log('case fifo', bodies(await receive(ordered, 8)).join(','));
  const delayed = await consumer('sdk-node-delayed', 'sdk-node-delay');
  const due = Date.now() + 3000;
  await producer.send({ topic: 'sdk-node-delay', deliveryTimestamp: new Date(due), body: Buffer.from('late') });
  console.log('case delay', bodies(await receive(delayed, 1)).join(','), Date.now() >= due - 100);
  await simple.shutdown();
  await ordered.shutdown();
  await delayed.shutdown();
  await push(producer);
  await dead(producer);
  await transactions();
  await Promise.all(closing);
  await producer.shutdown();
  console.log('case errors', errors);
  process.exit(0);
}

main().catch(error => { console.log('failed', error); process.exit(1); });
