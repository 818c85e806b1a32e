// The Node SDK of RocketMQ 5 in its default settings (plain text): prints "case NAME RESULT" for each thing that it tries.
'use strict';
const { Producer, SimpleConsumer } = require('rocketmq-client-nodejs');

const endpoints = process.argv[2];
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
  const end = Date.now() + 40000;
  while (found.length < count && Date.now() < end) {
    for (const view of await from.receive(16, 30000)) {
      found.push(view);
      await from.ack(view);
    }
  }
  return found;
}

const bodies = views => views.map(view => view.body.toString());

async function main() {
  const producer = new Producer({ endpoints, namespace: '', logger: quiet, topics: ['sdk-node', 'sdk-node-fifo'] });
  await producer.startup();
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
  const due = Date.now() + 3000;
  await producer.send({ topic: 'sdk-node', deliveryTimestamp: new Date(due), body: Buffer.from('late') });
  console.log('case delay', bodies(await receive(simple, 1)).join(','), Date.now() >= due - 100);
  await simple.shutdown();
  await ordered.shutdown();
  await producer.shutdown();
  console.log('case errors', errors);
  process.exit(0);
}

main().catch(error => { console.log('failed', error); process.exit(1); });
