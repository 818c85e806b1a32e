import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The official Java client, one job per process.
 *
 * <pre>
 *   JavaClient send    NAME_SERVER TOPIC COUNT                             singles, then one batch of ten more
 *   JavaClient consume NAME_SERVER TOPIC GROUP EXPRESSION COUNT [orderly]  prints one line per message
 *   JavaClient poll    NAME_SERVER TOPIC GROUP EXPRESSION COUNT            the same with a pull consumer; commits its offsets
 * </pre>
 *
 * Every line of result begins with "got" or "sent".
 */
public final class JavaClient {
    private static final int BATCH = 10;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("send")) {
            send(args[1], args[2], Integer.parseInt(args[3]));
        } else if (args[0].equals("poll")) {
            poll(args[1], args[2], args[3], args[4], Integer.parseInt(args[5]));
        } else {
            consume(args[1], args[2], args[3], args[4], Integer.parseInt(args[5]), args.length > 6);
        }
        System.exit(0);
    }

    private static Message message(String topic, int number) {
        String padding = number % 10 == 9 ? String.join("", Collections.nCopies(8000, ".")) : "";
        String tag = number % 2 == 0 ? "TagA" : "TagB";
        byte[] body = ("body-" + number + " 中文" + padding).getBytes(StandardCharsets.UTF_8);
        return new Message(topic, tag, "key-" + number, body);
    }

    private static void send(String nameServer, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG-JAVA");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        for (int number = 0; number < count; number++) {
            report(producer.send(message(topic, number)));
        }
        List<Message> batch = new ArrayList<>();
        for (int number = count; number < count + BATCH; number++) {
            batch.add(message(topic, number));
        }
        report(producer.send(batch));
        producer.shutdown();
    }

    private static void report(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException(result.toString());
        }
        System.out.println("sent " + result.getOffsetMsgId() + " " + result.getMessageQueue().getQueueId());
    }

    private static void consume(
            String nameServer, String topic, String group, String expression, int count, boolean orderly) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        CountDownLatch left = new CountDownLatch(count);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, expression);
        if (orderly) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                take(messages, left);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                take(messages, left);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        left.await(60, TimeUnit.SECONDS);
        consumer.shutdown();
    }

    private static void poll(String nameServer, String topic, String group, String expression, int count) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        CountDownLatch left = new CountDownLatch(count);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.subscribe(topic, expression);
        consumer.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (left.getCount() > 0 && System.nanoTime() < end) {
            take(consumer.poll(500), left);
        }
        consumer.commitSync();
        consumer.shutdown();
    }

    private static synchronized void take(List<MessageExt> messages, CountDownLatch left) {
        for (MessageExt message : messages) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            String words = body.replace(".", "");
            System.out.println(
                    "got " + message.getQueueId() + " " + message.getQueueOffset() + " " + message.getTags() + " "
                            + message.getKeys() + " " + body.length() + " " + words);
            left.countDown();
        }
    }
}
