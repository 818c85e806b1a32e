import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Delay levels, retries and dead letters with the official Java client.
 *
 * <pre>
 *   JavaDelay NAME_SERVER TOPIC GROUP COUNT    COUNT messages at level 1, then one that is never consumed well
 *   JavaDelay send NAME_SERVER TOPIC LEVEL COUNT    only sends
 * </pre>
 *
 * Prints "sent KEY QUEUE OFFSET", "got KEY DELAY MS_SINCE_BORN", "tried KEY RECONSUME_TIMES" and "dead KEY RECONSUME_TIMES".
 */
public final class JavaDelay {
    private static final int RETRIES = 2;
    private static final int ATTEMPTS = RETRIES + 1;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("send")) {
            send(args[1], args[2], Integer.parseInt(args[3]), Integer.parseInt(args[4]));
        } else {
            roundTrip(args[0], args[1], args[2], Integer.parseInt(args[3]));
        }
        System.exit(0);
    }

    private static Message message(String topic, String key) {
        return new Message(topic, "TagA", key, key.getBytes(StandardCharsets.UTF_8));
    }

    private static void send(String nameServer, String topic, int level, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG-DELAY");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        for (int number = 0; number < count; number++) {
            Message message = message(topic, "key-" + number);
            message.setDelayTimeLevel(level);
            SendResult result = producer.send(message);
            System.out.println("sent key-" + number + " " + result.getMessageQueue().getQueueId() + " " + result.getQueueOffset());
        }
        producer.shutdown();
    }

    private static void roundTrip(String nameServer, String topic, String group, int count) throws Exception {
        CountDownLatch good = new CountDownLatch(count);
        CountDownLatch bad = new CountDownLatch(ATTEMPTS);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(RETRIES);
        consumer.subscribe(topic, "TagA");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            if (message.getKeys().equals("bad")) {
                System.out.println("tried bad " + message.getReconsumeTimes());
                bad.countDown();
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            long waited = message.getStoreTimestamp() - message.getBornTimestamp();
            System.out.println("got " + message.getKeys() + " " + message.getProperty("DELAY") + " " + waited);
            good.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        send(nameServer, topic, 1, count);
        DefaultMQProducer producer = new DefaultMQProducer("PG-BAD");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        producer.send(message(topic, "bad"));
        producer.shutdown();
        good.await(60, TimeUnit.SECONDS);
        bad.await(60, TimeUnit.SECONDS);
        readDead(nameServer, "%DLQ%" + group);
        consumer.shutdown();
    }

    private static void readDead(String nameServer, String topic) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("CG-DEAD");
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (System.nanoTime() < end) {
            try {
                consumer.assign(consumer.fetchMessageQueues(topic));
                break;
            } catch (Exception notThereYet) {
                Thread.sleep(100);
            }
        }
        boolean found = false;
        while (!found && System.nanoTime() < end) {
            for (MessageExt message : consumer.poll(500)) {
                System.out.println("dead " + message.getKeys() + " " + message.getReconsumeTimes());
                found = true;
            }
        }
        consumer.shutdown();
    }
}
