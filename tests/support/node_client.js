/*
 * The Node client of RocketMQ (npm ali-ons), one job per process; its packages are in the folder named by NODE_PATH.
 *
 *   node_client.js send    NAME_SERVER TOPIC COUNT
 *   node_client.js consume NAME_SERVER TOPIC GROUP EXPRESSION    one line per message, until standard input ends
 *
 * Every line of result begins with "sent" or "got"; log lines of the client go to standard error.
 */
'use strict';

const httpclient = require('urllib');
const { Consumer, Message, Producer } = require('ali-ons');

const logger = { debug() {}, info() {}, warn: console.error, error: console.error };

async function send(nameSrv, topic, count) {
  const producer = new Producer({ httpclient, nameSrv, producerGroup: 'PG-NODE', logger });
  await producer.ready();
  // This client leaves a new topic to others unless it is given the route of the default topic.
  await producer._mqClient.updateTopicRouteInfoFromNameServer(topic, true, producer);
  for (let number = 0; number < count; number++) {
    const padding = number % 10 === 9 ? '.'.repeat(8000) : '';
    const message = new Message(topic, number % 2 === 0 ? 'TagA' : 'TagB', `body-${number} 中文${padding}`);
    message.keys = [`key-${number}`];
    const result = await producer.send(message);
    if (result.sendStatus !== 'SEND_OK') throw new Error(JSON.stringify(result));
    console.log(`sent ${result.msgId} ${result.messageQueue.queueId}`);
  }
  await producer.close();
}

async function consume(nameSrv, topic, consumerGroup, expression) {
  const consumer = new Consumer({ httpclient, nameSrv, consumerGroup, logger, consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET' });
  consumer.on('error', error => console.error(error));
  consumer.subscribe(topic, expression, async message => {
    const body = message.body.toString();
    const words = body.replace(/\.+$/, '');
    console.log(`got ${message.queueId} ${message.queueOffset} ${message.tags} ${message.keys} ${body.length} ${words}`);
  });
  await new Promise(resolve => process.stdin.on('end', resolve).resume());
  await consumer.close();
}

const [job, nameServer, topic, ...rest] = process.argv.slice(2);
const work =
  job === 'send' ? send(nameServer, topic, Number(rest[0])) : consume(nameServer, topic, rest[0], rest[1]);
work.then(() => process.exit(0));
